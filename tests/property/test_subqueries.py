"""What subqueries mean, as DuckDB sees it: three-valued logic over small tables with NULLs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_examples import PROFILE
from program_reference import compile_sql

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.reference.interpreter import evaluate
from floodmark.reference.moment import DeadLetter

_TABLES = """
CREATE TABLE t (k INT PRIMARY KEY, a INT, b INT);
CREATE TABLE u (k INT PRIMARY KEY, a INT, b INT);
"""
QUERIES = (
    "SELECT k FROM t WHERE a IN (SELECT a FROM u)",
    "SELECT k FROM t WHERE a IN (SELECT a FROM u WHERE u.b = t.b)",
    "SELECT k FROM t WHERE a NOT IN (SELECT a FROM u)",
    "SELECT k FROM t WHERE NOT (a IN (SELECT a FROM u WHERE b = 1)) AND b > 0",
    "SELECT k FROM t WHERE a NOT IN (SELECT a FROM u WHERE u.b = t.b)",
    "SELECT k FROM t WHERE a NOT IN (SELECT a FROM u WHERE u.b > t.b)",
    "SELECT k FROM t WHERE k NOT IN (SELECT a FROM u)",
    "SELECT k FROM t WHERE a NOT IN (SELECT k FROM u)",
    "SELECT k FROM t WHERE k NOT IN (SELECT k FROM u WHERE u.a = t.a)",
    "SELECT k FROM t WHERE a NOT IN (SELECT a FROM u WHERE a > 0)",
    "SELECT k FROM t WHERE (a, b) IN (SELECT a, b FROM u)",
    "SELECT k FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u)",
    "SELECT k FROM t WHERE a + 1 NOT IN (SELECT a - 1 FROM u)",
    "SELECT k FROM t WHERE a = ANY (SELECT b FROM u) AND b <> ALL (SELECT a FROM u)",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u)",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE b = 2)",
    "SELECT k FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = t.a AND u.b < t.b LIMIT 1)",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a OR u.b = t.b)",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u, t w WHERE u.a = w.a AND w.b = t.b)",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.b NOT IN "
    "(SELECT b FROM t w WHERE w.k = u.k))",
    "SELECT k FROM t WHERE EXISTS (SELECT max(a) FROM u)",
    "SELECT k FROM t WHERE EXISTS (SELECT a FROM u GROUP BY a HAVING count(*) > 1)",
    "SELECT k, a IN (SELECT a FROM u) AS x, b NOT IN (SELECT a FROM u WHERE u.k = t.k) AS y FROM t",
    "SELECT k, EXISTS (SELECT 1 FROM u WHERE u.a = t.a) AS x, EXISTS (SELECT 1 FROM u) AS y FROM t",
    "SELECT k FROM t WHERE a IN (SELECT a FROM u) OR NOT EXISTS (SELECT 1 FROM u WHERE u.b = t.b)",
    "SELECT k FROM t WHERE (a NOT IN (SELECT a FROM u)) IS NULL",
    "SELECT k FROM t WHERE a > (SELECT min(a) FROM u)",
    "SELECT k FROM t WHERE (SELECT max(b) FROM u WHERE b < 2) = a",
    "SELECT k FROM t WHERE a + b >= (SELECT count(a) FROM u) AND b > 0",
    "SELECT k, (SELECT sum(a) FROM u) AS x, (SELECT count(*) FROM u WHERE u.a = t.a) AS y FROM t",
    "SELECT k, (SELECT count(*) * 2 + count(b) FROM u WHERE t.a = u.a AND u.b = t.b) AS x FROM t",
    "SELECT k, (SELECT b FROM u WHERE u.k = t.k) AS x FROM t",
    "SELECT k FROM t WHERE b = (SELECT max(b) FROM t w WHERE w.a = t.a)",
    "SELECT k, (SELECT sum(a) FROM u HAVING count(*) > 2) AS x FROM t",
    "SELECT a, count(*) AS n FROM t GROUP BY a HAVING count(*) >= (SELECT count(*) FROM u)",
    "SELECT a, sum(b) + (SELECT min(b) FROM u) AS x, (SELECT count(*) FROM u WHERE u.a = t.a) AS y "
    "FROM t GROUP BY a",
    "SELECT sum(a + (SELECT max(a) FROM u)) AS x FROM t",
    "SELECT t.k, u.k AS uk FROM t FULL JOIN u ON t.a = u.a AND t.b < u.b",
    "SELECT a, t.k, u.k AS uk FROM t FULL JOIN u USING (a)",
    "SELECT a, b, t.k, u.k AS uk FROM t NATURAL RIGHT JOIN (SELECT a, b, k FROM u) AS u",
    "SELECT t.k, u.k AS uk FROM t RIGHT JOIN u ON t.b > u.b",
)

_value = st.sampled_from([None, 0, 1, 2])
_rows = st.lists(st.tuples(_value, _value), max_size=4)


@pytest.fixture(scope="module")
def other() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield an empty database."""
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize("query", QUERIES)
@settings(PROFILE, max_examples=20)
@given(t=_rows, u=_rows)
def test_a_subquery_means_what_it_does_elsewhere(
    other: duckdb.DuckDBPyConnection, query: str, t: list[Any], u: list[Any]
) -> None:
    inputs = {
        name: [(i, *row) for i, row in enumerate(rows)] for name, rows in (("t", t), ("u", u))
    }
    assert _ours(plan_of(query), inputs) == _theirs(other, query, inputs)


@cache
def plan_of(query: str) -> n.Node:
    """Return the plan of a view over the two tables."""
    found = compile_sql(f"{_TABLES} CREATE MATERIALIZED VIEW v AS {query};").objects["v"]
    assert found.plan is not None
    return found.plan.root


def _ours(root: n.Node, inputs: dict[str, list[tuple[Any, ...]]]) -> Counter[tuple[Any, ...]]:
    rows = {t: [dict(zip("kab", row, strict=True)) for row in found] for t, found in inputs.items()}
    dead: list[DeadLetter] = []
    out = evaluate(root, rows, datetime(2024, 1, 1, tzinfo=UTC), dead=dead)
    assert not dead
    shown = [c for c in root.names if not is_hidden(c)]
    return Counter(tuple(row[c] for c in shown) for row in out)


def _theirs(
    other: duckdb.DuckDBPyConnection, query: str, inputs: dict[str, list[tuple[Any, ...]]]
) -> Counter[tuple[Any, ...]]:
    for name, rows in inputs.items():
        other.execute(f"CREATE OR REPLACE TEMP TABLE {name} (k INT, a INT, b INT)")
        if rows:
            other.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
    return Counter(other.execute(query).fetchall())
