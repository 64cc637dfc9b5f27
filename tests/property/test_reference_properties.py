"""What must hold for every plan and every changelog, on the reference alone.

Held here: the analysis promises of each node (its key is unique, an append-only node never
retracts, no change is below a watermark), the incremental identity, emit on close, independence of
epoch boundaries; and DuckDB's opinion of the batch meaning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import assume, given, reject, settings, strategies as st

from floodmark.changelog import ChangelogMode, RowKind
from floodmark.plan import nodes as n
from floodmark.reference.changes import apply
from floodmark.reference.engine import advance
from floodmark.reference.interpreter import evaluate
from floodmark.reference.moment import DeadLetter
from floodmark.reference.pipeline import (
    EpochInput,
    ObjectResult,
    ObjectState,
    ReferenceKind,
    ReferenceObject,
)
from floodmark.reference.rows import Row, bag, key_of, sort_value
from floodmark.stream.operators.lower import lower
from tests.property.duckdb_sql import render
from tests.property.duckdb_windows import NotInDuckDB
from tests.property.pair_strategies import close_epochs, plans_of_two
from tests.property.plan_examples import PROFILE, counted, joined
from tests.property.plan_strategies import OBJECTS, START, closing_plans, epochs, plans


def views_of(root: n.Node) -> dict[str, tuple[n.Node, ReferenceObject]]:
    """Return a view for every node of a plan, under the node's name."""
    plan = lower(root)
    out = {}
    for node in plan.nodes:
        found = plan[node]
        view = ReferenceObject(
            found.identifier, ReferenceKind.VIEW, node.schema, found.stream_key, plan=node
        )
        out[found.identifier] = (node, view)
    return out


@settings(PROFILE, max_examples=400)
@given(root=plans(), inputs=epochs())
@counted
def test_every_node_keeps_what_the_analysis_promises(
    root: n.Node, inputs: list[EpochInput]
) -> None:
    _check_promises(root, inputs)


@settings(PROFILE, max_examples=300)
@given(root=plans_of_two(), inputs=close_epochs())
@counted
def test_what_two_rows_decide_keeps_what_the_analysis_promises(
    root: n.Node, inputs: list[EpochInput]
) -> None:
    _check_promises(root, inputs)


def _check_promises(root: n.Node, inputs: list[EpochInput]) -> None:
    plan = lower(root)
    views = views_of(root)
    objects = (*OBJECTS, *(view for _, view in views.values()))
    states: Mapping[str, ObjectState] = {}
    for epoch in inputs:
        before = states
        states, results = advance(objects, states, epoch)
        for name, (node, _) in views.items():
            old, new = before.get(name, ObjectState()), states[name]
            _check_node(plan[node], old, new, results[name])


def _check_keys(found: Any, rows: Sequence[Row]) -> None:
    for key in found.unique_keys:
        values = [key_of(row, tuple(sorted(key))) for row in rows]
        assert len(set(values)) == len(values), f"{set(key)} is not unique"
    for rule in found.dependencies.rules:
        given, settled = tuple(sorted(rule.determinant)), tuple(sorted(rule.dependent))
        pairs = {(key_of(row, given), key_of(row, settled)) for row in rows}
        assert len({a for a, _ in pairs}) == len(pairs), f"{rule} does not hold"


def _check_node(found: Any, old: ObjectState, new: ObjectState, result: ObjectResult) -> None:
    keys = [key_of(row, found.stream_key) for row in new.rows]
    assert len(set(keys)) == len(keys), "the stream key is not unique"
    _check_keys(found, new.rows)
    assert bag(apply(old.rows, result.changes)) == bag(new.rows)
    if found.mode is ChangelogMode.APPEND_ONLY:
        assert all(kind is RowKind.INSERT for kind, _ in result.changes)
    carried = {w.column for w in found.watermarks}
    assert all(row[column] is not None for row in new.rows for column in carried)
    for column, bound in old.watermark.items():
        for kind, row in result.changes:
            value = row[column]
            assert value is None or not sort_value(value) < sort_value(bound), (kind, column)


@settings(PROFILE, max_examples=300)
@given(root=closing_plans(), inputs=epochs(count=4))
@counted
def test_emit_on_close_is_the_batch_result_of_closed_windows(
    root: n.Node, inputs: list[EpochInput]
) -> None:
    view = ReferenceObject(
        "v", ReferenceKind.VIEW, root.schema, lower(root)[root].stream_key, plan=root,
        emits_on_close=True,
    )  # fmt: skip
    states: Mapping[str, ObjectState] = {}
    for epoch in inputs:
        states, results = advance((*OBJECTS, view), states, epoch)
        assert all(kind is RowKind.INSERT for kind, _ in results["v"].changes)
    rows = {name: state.rows for name, state in states.items()}
    batch = evaluate(root, rows, inputs[-1].now)
    window = next(c.window for c in n.walk(root) if isinstance(c, n.CloseAggregate))
    bound = states["v"].watermark.get(window)
    closed = [row for row in batch if bound is not None and row[window] < bound]
    assert bag(states["v"].rows) == bag(closed)


@settings(PROFILE, max_examples=200)
@given(root=closing_plans(), inputs=epochs(count=4), cut=st.integers(1, 3))
@counted
def test_other_epoch_boundaries_give_the_same_rows(
    root: n.Node, inputs: list[EpochInput], cut: int
) -> None:
    view = ReferenceObject(
        "v", ReferenceKind.VIEW, root.schema, lower(root)[root].stream_key, plan=root,
        emits_on_close=True,
    )  # fmt: skip
    apart = _final((*OBJECTS, view), inputs)
    together = _final((*OBJECTS, view), [*inputs[: cut - 1], joined(inputs[cut - 1 : cut + 1])])
    if cut == len(inputs) - 1:
        for name in ("v", "t1", "t2", "s"):
            assert bag(apart[name].rows) == bag(together[name].rows), name
    else:
        rest = [joined(inputs[cut - 1 : cut + 1]), *inputs[cut + 1 :]]
        together = _final((*OBJECTS, view), [*inputs[: cut - 1], *rest])
        for name in ("v", "t1", "t2", "s"):
            assert bag(apart[name].rows) == bag(together[name].rows), name


def _final(
    objects: Sequence[ReferenceObject], inputs: Sequence[EpochInput]
) -> Mapping[str, ObjectState]:
    states: Mapping[str, ObjectState] = {}
    for epoch in inputs:
        states, _ = advance(objects, states, epoch)
    return states


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


@settings(PROFILE, max_examples=800)
@given(root=plans(max_depth=3), inputs=epochs(count=2))
@counted
def test_duckdb_agrees_on_the_batch_meaning(
    database: duckdb.DuckDBPyConnection, root: n.Node, inputs: list[EpochInput]
) -> None:
    states = _final(OBJECTS, inputs)
    rows = {name: state.rows for name, state in states.items()}
    dead: list[DeadLetter] = []
    ours = evaluate(root, rows, START, dead=dead)
    assume(not dead)  # DuckDB refuses the whole query
    try:
        sql = render(root, rows)
    except NotInDuckDB:
        reject()
    cursor = database.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    theirs = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    _assert_same(_sorted(ours, root.names), _sorted(theirs, root.names), sql)


def _sorted(rows: Sequence[Row], names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    shown = [tuple(_plain(row[name]) for name in names) for row in rows]
    return sorted(shown, key=lambda values: [(v is None, str(v)) for v in values])


def _plain(value: Any) -> Any:
    """Bring all numbers to one form that survives sorting as text."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return float(f"{float(value):.9g}")
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value.isoformat() if isinstance(value, datetime) else value


def _assert_same(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]], sql: str) -> None:
    assert len(ours) == len(theirs), (ours, theirs, sql)
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a, b, strict=True):
            close = isinstance(x, float) and isinstance(y, float) and math.isclose(x, y)
            assert close or x == y, (a, b, sql)
