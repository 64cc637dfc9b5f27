"""Queries with subqueries, and joins that name their columns, over the tables `t1` and `t2`."""

from __future__ import annotations

from functools import cache

from floodmark.plan import nodes as n
from tests.program_reference import compile_sql

_TABLES = """
CREATE TABLE t1 (k INT PRIMARY KEY, a INT, b INT);
CREATE TABLE t2 (k INT PRIMARY KEY, a INT, b INT);
"""
QUERIES = (
    "SELECT k FROM t1 WHERE a IN (SELECT a FROM t2)",
    "SELECT k FROM t1 WHERE a IN (SELECT a FROM t2 WHERE t2.b = t1.b)",
    "SELECT k FROM t1 WHERE a NOT IN (SELECT a FROM t2)",
    "SELECT k FROM t1 WHERE NOT (a IN (SELECT a FROM t2 WHERE b = 1)) AND b > 0",
    "SELECT k FROM t1 WHERE a NOT IN (SELECT a FROM t2 WHERE t2.b = t1.b)",
    "SELECT k FROM t1 WHERE a NOT IN (SELECT a FROM t2 WHERE t2.b > t1.b)",
    "SELECT k FROM t1 WHERE k NOT IN (SELECT a FROM t2)",
    "SELECT k FROM t1 WHERE a NOT IN (SELECT k FROM t2)",
    "SELECT k FROM t1 WHERE k NOT IN (SELECT k FROM t2 WHERE t2.a = t1.a)",
    "SELECT k FROM t1 WHERE a NOT IN (SELECT a FROM t2 WHERE a > 0)",
    "SELECT k FROM t1 WHERE (a, b) IN (SELECT a, b FROM t2)",
    "SELECT k FROM t1 WHERE (a, b) NOT IN (SELECT a, b FROM t2)",
    "SELECT k FROM t1 WHERE a + 1 NOT IN (SELECT a - 1 FROM t2)",
    "SELECT k FROM t1 WHERE a = ANY (SELECT b FROM t2) AND b <> ALL (SELECT a FROM t2)",
    "SELECT k FROM t1 WHERE EXISTS (SELECT 1 FROM t2)",
    "SELECT k FROM t1 WHERE NOT EXISTS (SELECT 1 FROM t2 WHERE b = 2)",
    "SELECT k FROM t1 WHERE EXISTS (SELECT * FROM t2 WHERE t2.a = t1.a AND t2.b < t1.b LIMIT 1)",
    "SELECT k FROM t1 WHERE NOT EXISTS (SELECT 1 FROM t2 WHERE t2.a = t1.a OR t2.b = t1.b)",
    "SELECT k FROM t1 WHERE NOT EXISTS (SELECT 1 FROM t2, t1 w WHERE t2.a = w.a AND w.b = t1.b)",
    "SELECT k FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.a = t1.a AND t2.b NOT IN "
    "(SELECT b FROM t1 w WHERE w.k = t2.k))",
    "SELECT k FROM t1 WHERE EXISTS (SELECT max(a) FROM t2)",
    "SELECT k FROM t1 WHERE EXISTS (SELECT a FROM t2 GROUP BY a HAVING count(*) > 1)",
    "SELECT k, a IN (SELECT a FROM t2) AS x, b NOT IN (SELECT a FROM t2 WHERE t2.k = t1.k) AS "
    "y FROM t1",
    "SELECT k, EXISTS (SELECT 1 FROM t2 WHERE t2.a = t1.a) AS x, EXISTS (SELECT 1 FROM t2) AS "
    "y FROM t1",
    "SELECT k FROM t1 WHERE a IN (SELECT a FROM t2) OR NOT EXISTS (SELECT 1 FROM t2 WHERE t2.b "
    "= t1.b)",
    "SELECT k FROM t1 WHERE (a NOT IN (SELECT a FROM t2)) IS NULL",
    "SELECT k FROM t1 WHERE a > (SELECT min(a) FROM t2)",
    "SELECT k FROM t1 WHERE (SELECT max(b) FROM t2 WHERE b < 2) = a",
    "SELECT k FROM t1 WHERE a + b >= (SELECT count(a) FROM t2) AND b > 0",
    "SELECT k, (SELECT sum(a) FROM t2) AS x, (SELECT count(*) FROM t2 WHERE t2.a = t1.a) AS y "
    "FROM t1",
    "SELECT k, (SELECT count(*) * 2 + count(b) FROM t2 WHERE t1.a = t2.a AND t2.b = t1.b) AS x "
    "FROM t1",
    "SELECT k, (SELECT b FROM t2 WHERE t2.k = t1.k) AS x FROM t1",
    "SELECT k FROM t1 WHERE b = (SELECT max(b) FROM t1 w WHERE w.a = t1.a)",
    "SELECT k, (SELECT sum(a) FROM t2 HAVING count(*) > 2) AS x FROM t1",
    "SELECT a, count(*) AS n FROM t1 GROUP BY a HAVING count(*) >= (SELECT count(*) FROM t2)",
    "SELECT a, sum(b) + (SELECT min(b) FROM t2) AS x, (SELECT count(*) FROM t2 WHERE t2.a = "
    "t1.a) AS y "
    "FROM t1 GROUP BY a",
    "SELECT sum(a + (SELECT max(a) FROM t2)) AS x FROM t1",
    "SELECT t1.k, t2.k AS uk FROM t1 FULL JOIN t2 ON t1.a = t2.a AND t1.b < t2.b",
    "SELECT a, t1.k, t2.k AS uk FROM t1 FULL JOIN t2 USING (a)",
    "SELECT a, b, t1.k, t2.k AS uk FROM t1 NATURAL RIGHT JOIN (SELECT a, b, k FROM t2) AS t2",
    "SELECT t1.k, t2.k AS uk FROM t1 RIGHT JOIN t2 ON t1.b > t2.b",
)


@cache
def plan_of(query: str) -> n.Node:
    """Return the plan of a view over the two tables."""
    found = compile_sql(f"{_TABLES} CREATE MATERIALIZED VIEW v AS {query};").objects["v"]
    assert found.plan is not None
    return found.plan.root
