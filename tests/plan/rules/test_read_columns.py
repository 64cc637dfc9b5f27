"""Which columns of tables a plan reads: those of an expression that can fail are all."""

from __future__ import annotations

import pytest

from floodmark.plan import nodes as n
from floodmark.plan.rules.read_columns import read_columns
from tests.program_reference import compile_sql

_TABLES = """
CREATE TABLE a (k INT PRIMARY KEY, x INT, y INT);
CREATE TABLE b (k INT PRIMARY KEY, x INT, y INT);
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT x FROM a", {"a": "kx"}),
        ("SELECT a.x FROM a JOIN b ON a.k = b.k", {"a": "kx", "b": "k"}),
        ("SELECT a.k FROM a LEFT JOIN b ON a.k = b.x AND b.y = a.y", {"a": "ky", "b": "kxy"}),
        ("SELECT x, max(y) AS m FROM a GROUP BY x", {"a": "xy"}),
        ("SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.y)", {"a": "ky", "b": "x"}),
        ("SELECT x AS v FROM a UNION ALL SELECT y FROM b", {"a": "kx", "b": "ky"}),
        ("SELECT a.k, 1 / a.x AS c FROM a JOIN b ON a.k = b.k", {"a": "kxy", "b": "kxy"}),
        ("SELECT k, row_number() OVER (PARTITION BY x ORDER BY y) AS n FROM a", {"a": "kxy"}),
    ],
)
def test_columns_that_are_read(query: str, expected: dict[str, str]) -> None:
    plan = compile_sql(f"{_TABLES} CREATE MATERIALIZED VIEW v AS {query};")["v"].plan
    assert plan is not None
    read = read_columns(plan.nodes)
    found = {scan.object: read[scan] for scan in plan.nodes if isinstance(scan, n.Scan)}
    assert {o: "".join(sorted(names)) for o, names in found.items()} == expected
