"""A table with a TTL equals the batch answer: of each key the last write, unless that is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings, strategies as st

from floodmark.changelog import RowKind
from floodmark.reference.compile import reference_objects
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.reference.rows import Row
from tests.program_reference import compile_sql

START = datetime(2024, 1, 1, 10, tzinfo=UTC)
LENGTH = 5
"""The TTL, and all times, in minutes."""
WRITTEN = "CREATE TABLE t (k INT PRIMARY KEY, a INT) WITH (ttl = '5 minutes');"
BY_COLUMN = """
CREATE TABLE t (k INT PRIMARY KEY, a INT, ts TIMESTAMP) WITH (ttl = '5 minutes', ttl_column = ts);
"""
APPENDED = "CREATE TABLE t (k INT, a INT) APPEND ONLY WITH (ttl = '5 minutes', ttl_mode = '{}');"
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT k, a FROM t WHERE a > 0;"


@dataclass(frozen=True)
class Written:
    """A row that comes, or, without `a`, the delete of its key; `minute` is its own time."""

    k: int
    a: int | None
    minute: int | None


rows = st.builds(
    Written,
    st.integers(1, 3),
    st.sampled_from([None, 0, 1, 2]),
    st.none() | st.integers(-6, 20),
)
epochs = st.lists(st.tuples(st.integers(1, 4), st.lists(rows, max_size=3)), min_size=1, max_size=8)
"""How many minutes after the one before, and what comes."""


def _at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def _run(sql: str, given_epochs: Sequence[tuple[int, Sequence[Written]]]) -> list[list[Row]]:
    """Return the rows of the table and of a view over it after each epoch, in turns."""
    objects = reference_objects(compile_sql(sql + VIEW))
    columns = {f.name for f in objects[0].schema}
    states: Mapping[str, ObjectState] = {}
    out: list[list[Row]] = []
    minute = 0
    for step, written in given_epochs:
        minute += step
        deliveries = [_delivery(w, columns) for w in written]
        states, results = advance(objects, states, EpochInput(_at(minute), {"t": deliveries}))
        counted = results["t"]
        assert counted.ignored >= 0 and counted.expired <= len(written)
        shown = states["t"].shown
        out += [list(states["t"].rows if shown is None else shown), list(states["v"].rows)]
    return out


def _delivery(row: Written, columns: set[str]) -> Delivery:
    time = None if row.minute is None else _at(row.minute).replace(tzinfo=None)
    values: dict[str, Any] = {"k": row.k, "a": row.a, "ts": time}
    kind = RowKind.DELETE if row.a is None else RowKind.INSERT
    return Delivery(kind, {name: v for name, v in values.items() if name in columns})


def _plain(found: Sequence[Row]) -> list[tuple[int, int]]:
    return sorted((row["k"], row["a"]) for row in found)


def _batch(
    given_epochs: Sequence[tuple[int, Sequence[Written]]], *, by_column: bool
) -> list[list[tuple[int, int]]]:
    """Return the same from the whole history: nothing is kept from one epoch to the next."""
    out, minute = [], 0
    history: list[tuple[int, Written]] = []
    for step, written in given_epochs:
        minute += step
        history += [(minute, w) for w in written]
        last = {w.k: (at, w) for at, w in history}
        rows_now = []
        for at, w in last.values():
            since = w.minute if by_column else at
            over = since is not None and since <= minute - LENGTH
            if w.a is not None and not over:
                rows_now.append((w.k, w.a))
        out += [sorted(rows_now), sorted(row for row in rows_now if row[1] > 0)]
    return out


@settings(max_examples=300, deadline=None)
@given(epochs)
def test_a_row_lives_so_long_after_its_last_write(
    given_epochs: list[tuple[int, list[Written]]],
) -> None:
    found = [_plain(state) for state in _run(WRITTEN, given_epochs)]
    assert found == _batch(given_epochs, by_column=False)


@settings(max_examples=300, deadline=None)
@given(epochs)
def test_a_row_lives_so_long_after_its_time(
    given_epochs: list[tuple[int, list[Written]]],
) -> None:
    found = [_plain(state) for state in _run(BY_COLUMN, given_epochs)]
    assert found == _batch(given_epochs, by_column=True)


@settings(max_examples=200, deadline=None)
@given(epochs, st.data())
def test_an_epoch_more_in_between_changes_nothing_of_what_is_there_at_the_end(
    given_epochs: list[tuple[int, list[Written]]], data: st.DataObject
) -> None:
    """What comes meets no row that is over, whether an epoch has said so before or not."""
    sql = (
        "CREATE TABLE t (k INT PRIMARY KEY, a INT) ON CONFLICT DO UPDATE SET a = t.a + EXCLUDED.a "
        "WITH (ttl = '5 minutes');"
    )
    split: list[tuple[int, list[Written]]] = []
    for step, written in given_epochs:
        first = data.draw(st.integers(1, step))
        split += [(first, []), (step - first, written)] if first < step else [(step, written)]
    assert _plain(_run(sql, given_epochs)[-1]) == _plain(_run(sql, split)[-1])


@settings(max_examples=200, deadline=None)
@given(epochs, st.sampled_from(["delete", "discard"]))
def test_rows_that_are_only_added_go_one_by_one(
    given_epochs: list[tuple[int, list[Written]]], mode: str
) -> None:
    added = [(s, [w for w in written if w.a is not None]) for s, written in given_epochs]
    states = _run(APPENDED.format(mode), added)
    minute, history = 0, list[tuple[int, Written]]()
    for i, (step, written) in enumerate(added):
        minute += step
        history += [(minute, w) for w in written]
        there = sorted((w.k, w.a) for at, w in history if at > minute - LENGTH)
        ever = sorted((w.k, w.a) for _, w in history)
        assert _plain(states[2 * i]) == there
        followed = there if mode == "delete" else ever
        assert _plain(states[2 * i + 1]) == [row for row in followed if (row[1] or 0) > 0]
