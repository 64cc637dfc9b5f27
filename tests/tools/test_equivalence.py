"""Which views follow from their inputs at one cut, and so can be compared with their query."""

from __future__ import annotations

import pytest

from floodmark.tools.equivalence import compares
from tests.program_reference import compile_sql

T = "CREATE TABLE t (k INT PRIMARY KEY, v INT);"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT v, count(*) AS n FROM t GROUP BY v", True),
        ("SELECT k, random() AS r FROM t", False),
        ("SELECT k FROM t WHERE random() < 0.5", False),
        ("SELECT v, count(*) AS n FROM (SELECT v FROM t WHERE random() < 0.5) q GROUP BY v", False),
    ],
)
def test_what_was_drawn_once_is_not_compared_with_a_query(query: str, expected: bool) -> None:
    pipeline = compile_sql(f"{T} CREATE MATERIALIZED VIEW m AS {query}")
    assert compares(pipeline["m"]) is expected
