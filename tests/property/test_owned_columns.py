"""Columns that sinks own: with no other writer the table is the outer join of what they write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given, strategies as st

from floodmark.changelog import RowKind
from floodmark.reference.compile import reference_objects
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.testing import FixedClock
from tests.program_reference import compile_sql

SQL = """
CREATE TABLE x (k INT PRIMARY KEY, v INT, w INT);
CREATE TABLE y (k INT PRIMARY KEY, u INT);
CREATE TABLE z (k INT PRIMARY KEY, s INT);
CREATE TABLE t (k INT PRIMARY KEY, v INT, u INT, w INT, s INT, n INT AS (coalesce(v, u)));
CREATE SINK a INTO t (k, w, v) AS SELECT k, w, v FROM x WITH (on_delete = 'columns');
CREATE SINK b INTO t (u, k) AS SELECT u, k FROM y WITH (on_delete = 'columns');
CREATE SINK c INTO t (k, s) AS SELECT k, s FROM z WITH (on_delete = 'columns');
"""
WRITTEN = {"x": ("v", "w"), "y": ("u",), "z": ("s",)}
OBJECTS = reference_objects(compile_sql(SQL))
values = st.sampled_from([None, 0, 1])
moves = st.tuples(
    st.sampled_from(sorted(WRITTEN)), st.integers(1, 2), st.none() | st.tuples(values, values)
)
"""A row of a table by its key: what it comes to, or that it goes."""


@given(st.lists(st.lists(moves, max_size=4), min_size=1, max_size=6))
def test_the_table_is_the_outer_join_of_what_its_owners_write(
    epochs: Sequence[Sequence[tuple[str, int, tuple[int | None, int | None] | None]]],
) -> None:
    now = FixedClock().now()
    written: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in WRITTEN}
    states: Mapping[str, ObjectState] = {}
    for given_moves in epochs:
        deliveries: dict[str, list[Delivery]] = {name: [] for name in WRITTEN}
        for name, key, values_ in given_moves:
            row = dict.fromkeys(WRITTEN[name]) | {"k": key}
            if values_ is None:
                written[name].pop(key, None)
                deliveries[name].append(Delivery(RowKind.DELETE, row))
            else:
                row |= dict(zip(WRITTEN[name], values_, strict=False))
                written[name][key] = row
                deliveries[name].append(Delivery(RowKind.INSERT, row))
        states, _ = advance(OBJECTS, states, EpochInput(now, deliveries))
        found = {row["k"]: row for row in states["t"].rows}
        assert found == {
            key: _joined(written, key) for key in {k for w in written.values() for k in w}
        }


def _joined(written: Mapping[str, Mapping[int, Mapping[str, Any]]], key: int) -> dict[str, Any]:
    row: dict[str, Any] = {"k": key} | {c: None for columns in WRITTEN.values() for c in columns}
    for rows in written.values():
        row |= rows.get(key, {})
    return row | {"n": row["u"] if row["v"] is None else row["v"]}
