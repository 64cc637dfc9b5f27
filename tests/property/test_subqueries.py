"""What subqueries mean, as DuckDB sees it: three-valued logic over small tables with NULLs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.reference.interpreter import evaluate
from floodmark.reference.moment import DeadLetter
from tests.property.plan_examples import PROFILE
from tests.property.subqueries import QUERIES, plan_of

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
        name: [(i, *row) for i, row in enumerate(rows)] for name, rows in (("t1", t), ("t2", u))
    }
    assert _ours(plan_of(query), inputs) == _theirs(other, query, inputs)


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
