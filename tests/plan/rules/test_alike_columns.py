"""A condition on a column is asked of the columns that must be equal to it, too."""

from __future__ import annotations

import pytest

from floodmark.plan import nodes as n
from floodmark.plan.expr.printing import to_text
from tests.program_reference import compile_sql

TABLES = """
CREATE TABLE a (k INT PRIMARY KEY, x INT, d DOUBLE);
CREATE TABLE b (k INT PRIMARY KEY, x INT, d DOUBLE);
CREATE TABLE c (k INT PRIMARY KEY, x BIGINT, d DOUBLE);
"""
ASKED = {
    "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.k < 5": {"a": "k < 5", "b": "k < 5"},
    "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE b.k = 5": {"a": "k = 5", "b": "k = 5"},
    "SELECT a.k FROM a JOIN b ON a.k = b.x AND b.x IN (1, 2)": {
        "a": "k IN (1, 2)", "b": "x IN (1, 2)",
    },
    "SELECT a.k FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k WHERE 5 <= a.k": {
        "a": "5 <= k", "b": "5 <= k", "c": "5 <= k",
    },
    "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE a.k < 5": {"a": "k < 5", "b": "k < 5"},
    "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.k < 5": {"b": "k < 5"},
    "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND a.k < 5": {},
    "SELECT b.k FROM a RIGHT JOIN b ON a.k = b.k WHERE b.k < 5": {"a": "k < 5", "b": "k < 5"},
    "SELECT a.k FROM a FULL JOIN b ON a.k = b.k AND b.k < 5": {},
    "SELECT k FROM a WHERE k < 5 AND k IN (SELECT k FROM b)": {"a": "k < 5", "b": "k < 5"},
    "SELECT k FROM a WHERE k < 5 AND NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)": {
        "a": "k < 5", "b": "k < 5",
    },
    "SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.k < 5)": {
        "b": "k < 5",
    },
    # Equal doubles can be two zeros, and a column that is cast is another one.
    "SELECT a.k FROM a JOIN b ON a.d = b.d WHERE a.d < 5": {"a": "d < 5"},
    "SELECT a.k FROM a JOIN c ON a.k = c.x WHERE a.k < 5": {"a": "k < 5"},
    "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.k < a.x": {"a": "k < x"},
}  # fmt: skip


@pytest.mark.parametrize("query", ASKED)
def test_each_side_is_asked(query: str) -> None:
    view = f"CREATE MATERIALIZED VIEW v AS {query};"
    plan = compile_sql(TABLES + view)["v"].plan
    assert plan is not None
    found: dict[str, str] = {}
    for node in n.walk(plan.root):
        if isinstance(node, n.Filter) and (scan := _scan(node.input)) is not None:
            found[scan] = to_text(node.predicate)
    assert found == ASKED[query]


def _scan(node: n.Node) -> str | None:
    while isinstance(node, n.Project):
        node = node.input
    return node.object.rpartition(".")[2] if isinstance(node, n.Scan) else None
