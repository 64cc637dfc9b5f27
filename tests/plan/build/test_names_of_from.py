"""Which columns of FROM `*` stands for, and which a name reaches: as PostgreSQL has it."""

from __future__ import annotations

import pytest

from floodmark.changelog import is_hidden
from floodmark.errors import FloodmarkError
from floodmark.plan import nodes as n
from tests.program_reference import compile_sql

_TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, k INT, x INT);
CREATE TABLE u (id INT PRIMARY KEY, k INT, y INT);
CREATE TABLE w (id INT PRIMARY KEY, k BIGINT, z INT);
"""


def plan_of(query: str) -> n.Node:
    plan = compile_sql(f"{_TABLES} CREATE MATERIALIZED VIEW v AS {query};").objects["v"].plan
    assert plan is not None
    return plan.root


def columns_of(query: str) -> str:
    """Return the names of a query's columns; one that is there before has a number behind it."""
    return " ".join(f.name for f in plan_of(query).schema if not is_hidden(f.name))


@pytest.mark.parametrize(
    ("tables", "columns"),
    [
        ("u JOIN t USING (k)", "k id y id_1 x"),
        ("u JOIN t USING (k) JOIN w ON w.id = u.id", "k id y id_1 x id_2 k_1 z"),
        ("w JOIN (u JOIN t USING (k)) ON w.id = u.id", "id k z k_1 id_1 y id_2 x"),
        ("(u JOIN t USING (k)) CROSS JOIN w", "k id y id_1 x id_2 k_1 z"),
        ("u JOIN t USING (id) JOIN u AS v ON v.id = t.id", "id k y k_1 x id_1 k_2 y_1"),
        ("u JOIN t USING (k) JOIN w USING (k)", "k id y id_1 x id_2 z"),
        ("u JOIN w USING (id, k) JOIN t USING (k, id)", "k id y z x"),
        ("u NATURAL FULL JOIN w", "id k y z"),
        ("u, w NATURAL JOIN t", "id k y id_1 k_1 z x"),
        ("u JOIN t USING (k), unnest(ARRAY[1]) AS x2", "k id y id_1 x x2"),
        ("(u JOIN t USING (k)) AS j", "k id y id_1 x"),
        ("(u JOIN t USING (k)) AS j(a, b, c, d)", "a b c d x"),
        ("(u JOIN t ON u.k = t.x) AS j(a, b, c, d) JOIN w ON w.id = j.d", "a b c d k x id k_1 z"),
        ("(u JOIN t USING (k)) AS j JOIN u USING (y)", "y k id id_1 x id_2 k_1"),
    ],
)
def test_star(tables: str, columns: str) -> None:
    assert columns_of(f"SELECT * FROM {tables}") == columns


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT k FROM u JOIN t USING (k) JOIN w ON w.id = u.id", "E0207"),
        ("SELECT id FROM u JOIN t USING (id), w", "E0207"),
        ("SELECT 1 FROM u JOIN t USING (k) JOIN w USING (id)", "E0207"),
        ("SELECT 1 FROM u JOIN t USING (k) NATURAL JOIN w", "E0207"),
        ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u JOIN w USING (x))", "E0206"),
        ("SELECT 1 FROM t JOIN t ON t.id = t.id", "E0238"),
        ("SELECT 1 FROM t, u AS t", "E0238"),
        ("SELECT 1 FROM t JOIN (u JOIN t ON true) ON true", "E0238"),
        ("SELECT 1 FROM t, unnest(ARRAY[1]) AS t", "E0238"),
        ("SELECT * FROM t JOIN (SELECT 'a'::text AS x) AS s USING (x)", "E0212"),
        ("SELECT * FROM t JOIN u USING (k, k)", "E0212"),
        ("SELECT j.id FROM (t JOIN u USING (k)) AS j", "E0207"),
        ("SELECT t.x FROM (t JOIN u USING (k)) AS j", "E0208"),
        ("SELECT * FROM (t JOIN u USING (k)) AS j(a, b, c, d, e, f)", "E0209"),
    ],
)
def test_refused(query: str, code: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        plan_of(query)
    assert caught.value.code == code


@pytest.mark.parametrize("kind", ["", "LEFT", "RIGHT", "FULL"])
def test_using_brings_columns_to_their_common_type(kind: str) -> None:
    for tables in (f"t {kind} JOIN w USING (k)", f"w {kind} JOIN t USING (k)"):
        assert str(plan_of(f"SELECT k FROM {tables}").field("k").type) == "bigint"


def test_a_subquery_may_compare_what_using_made_one() -> None:
    query = "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u JOIN w USING (k) WHERE k = t.k)"
    assert columns_of(query) == "id"
