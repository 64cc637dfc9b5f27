"""Recomputation of affected partitions: rows before and after the epoch, and their difference.

Every input is read twice, before and after the epoch. Both readings keep only the values of its
scope columns that occur among the changes of any input. They go through the operator's batch form
in one pass, kept apart by `__after`; a row that only one of them has is a change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.context import EpochContext, Input, keys_to_read
from floodmark.dataflow.key_sets import ALL_KEYS, KeySets, key_sets
from floodmark.dataflow.state.own import OwnRows
from floodmark.plan import nodes as n
from floodmark.spark import keyed
from floodmark.spark.rows import Rows, empty
from floodmark.spark.types import ident
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds, hull
from floodmark.stream.properties.strategy import Recompute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


AFTER = "__after"
"""BOOLEAN: the row is of the input after the epoch, not before it."""
_KEY = "__scope_"
Scopes = Sequence[tuple[str, ...]]
NarrowFrame = Callable[["DataFrame"], "DataFrame"]
"""Chooses among the rows of the touched scopes; the changed rows are there once more, to show the
places of changes: they have NULL in `__after`, and none is chosen."""
Batch = Callable[[list["DataFrame"]], "DataFrame"]
"""The operator over inputs that all have `__after`: rows that differ in it never meet."""


def delta(
    op: StreamOperator[n.Node],
    inputs: Sequence[Input],
    batch: Batch,
    ctx: EpochContext,
    *,
    failing: bool = False,
    narrow: NarrowFrame | None = None,
    near: Bounds = EVERYWHERE,
) -> Rows | None:
    """Return the changes of an operator: of the scopes that the changes of its inputs touch.

    With `failing` the batch form gives `__error`, too: a row that has it goes to the dead letters.
    `narrow` leaves out rows of the scopes of its only input that no change concerns; those that it
    chooses are within the bounds `near`.
    """
    if ctx.inputs.fills:
        return _initial(op, inputs, batch, ctx, failing=failing)
    changes = [below.materialize() for below in inputs]
    if all(frame is None for frame in changes):
        return None
    scopes = _scopes_of(op)
    keys = _changed_keys(changes, scopes)
    within = [{**bounds, **near} for bounds in _bounds_of_scopes(inputs, scopes, changes)]
    rows_of = [
        _tag_sides(below, scope, keys, bounds, _key_sets(place, inputs, scopes, keys), ctx)
        for place, (below, scope, bounds) in enumerate(zip(inputs, scopes, within, strict=True))
    ]
    if narrow is not None:
        rows_of = [narrow(_with_places(inputs[0], rows_of[0], changes[0]))]
    rows = batch(rows_of)
    names = [ident(c) for c in op.names]
    weight = f"CASE WHEN {AFTER} THEN 1 ELSE -1 END AS {WEIGHT}"
    error = [ERROR] if failing else []
    return Rows(rows.selectExpr(*names, weight, *error), failing=failing)


def _initial(
    op: StreamOperator[n.Node],
    inputs: Sequence[Input],
    batch: Batch,
    ctx: EpochContext,
    *,
    failing: bool = False,
) -> Rows | None:
    """Return the rows of an operator that had none: all of them come."""
    if all(below.rows is None for below in inputs):
        return None
    come = []
    for below in inputs:
        node, rows = below.operator.node, below.initial_rows()
        rows = empty(ctx.inputs.spark, node) if rows is None else rows
        come.append(rows.selectExpr(*map(ident, node.names), f"TRUE AS {AFTER}"))
    names = [ident(c) for c in op.names]
    error = [ERROR] if failing else []
    frame = batch(come).selectExpr(*names, f"1 AS {WEIGHT}", *error)
    return Rows(frame, failing=failing, inserts=True)


def delta_from_own(
    op: StreamOperator[n.Node],
    below: Input,
    compute: Callable[[DataFrame], DataFrame],
    own: OwnRows,
    ctx: EpochContext,
) -> Rows | None:
    """Return the changes where the rows of before are at rest: only those after are computed.

    The scope columns of the only input are such that the operator passes on.
    """
    if ctx.inputs.fills:
        columns = [ident(c) for c in below.operator.names]
        return _initial(op, [below], lambda frames: compute(frames[0].selectExpr(*columns)), ctx)
    changes = below.materialize()
    if changes is None:
        return None
    (scope,) = _scopes_of(op)
    keys = _changed_keys([changes], [scope])
    (within,) = _bounds_of_scopes([below], [scope], [changes])
    names = [ident(c) for c in op.names]
    parts = []
    sets = ALL_KEYS if below.operator.is_scanned else _key_sets(0, [below], [scope], keys)
    after = below.rows_after(within, sets)
    for rows, weight in ((own.rows_before(within), -1), (after, 1)):
        if rows is not None:
            among = _rows_of_keys(rows, keys, scope, ctx)
            done = compute(among) if weight > 0 else among
            parts.append(done.selectExpr(*names, f"{weight} AS {WEIGHT}"))
    return Rows(reduce(lambda a, b: a.unionAll(b), parts)) if parts else None


def _scopes_of(op: StreamOperator[n.Node]) -> Scopes:
    """Return the scope columns of each input."""
    assert isinstance(op.strategy, Recompute), op.strategy
    return op.strategy.scopes


def _changed_keys(changes: Sequence[DataFrame | None], scopes: Scopes) -> DataFrame | None:
    """Return the values of the scope columns that changed, `__scope_0`, …; None for no columns."""
    parts = [
        frame.selectExpr(*(f"{ident(c)} AS {_KEY}{p}" for p, c in enumerate(scope)))
        for frame, scope in zip(changes, scopes, strict=True)
        if frame is not None and scope
    ]
    return reduce(lambda a, b: a.unionAll(b), parts) if parts else None


def _bounds_of_scopes(
    inputs: Sequence[Input], scopes: Scopes, changes: Sequence[DataFrame | None]
) -> list[Bounds]:
    """Return for each input where the touched values of its scope columns lie."""
    parts = []
    for below, scope, frame in zip(inputs, scopes, changes, strict=True):
        if frame is not None:
            lie = below.bounds
            parts.append({f"{p}": lie[c] for p, c in enumerate(scope) if c in lie})
    everywhere = hull(parts)
    return [
        {c: everywhere[f"{p}"] for p, c in enumerate(scope) if f"{p}" in everywhere}
        for scope in scopes
    ]


def _tag_sides(
    below: Input,
    scope: tuple[str, ...],
    keys: DataFrame | None,
    within: Bounds,
    sets: KeySets,
    ctx: EpochContext,
) -> DataFrame:
    """Return an input's rows of the touched scopes, before and after, told apart by `__after`."""
    node = below.operator.node
    names = [ident(c) for c in node.names]
    parts = [
        frame.selectExpr(*names, f"{after} AS {AFTER}")
        for frame, after in (
            (below.rows_before(within, sets), "FALSE"),
            (below.rows_after(within, sets), "TRUE"),
        )
        if frame is not None
    ]
    if not parts:
        return empty(ctx.inputs.spark, node).selectExpr("*", f"TRUE AS {AFTER}")
    rows = reduce(lambda a, b: a.unionAll(b), parts)
    return _rows_of_keys(rows, keys, scope, ctx)


def _key_sets(
    place: int, inputs: Sequence[Input], scopes: Scopes, keys: DataFrame | None
) -> KeySets:
    """Return the touched scopes as keys by which an input is read; it may be met as it is."""
    below, scope = inputs[place], scopes[place]

    def look() -> KeySets:
        if keys is None or below.operator.is_scanned:
            return ALL_KEYS
        return key_sets(keys, ((c, f"{_KEY}{p}") for p, c in enumerate(scope)))

    givers = {
        c: [(i, theirs[p]) for i, theirs in zip(inputs, scopes, strict=True)]
        for p, c in enumerate(scope)
    }
    return keys_to_read(below, givers, look)


def _with_places(below: Input, rows: DataFrame, changes: DataFrame | None) -> DataFrame:
    """Return tagged rows, and the changed ones with NULL in `__after`."""
    if changes is None:
        return rows
    names = [ident(c) for c in below.operator.names]
    return rows.unionAll(changes.selectExpr(*names, f"CAST(NULL AS BOOLEAN) AS {AFTER}"))


def _rows_of_keys(
    rows: DataFrame, keys: DataFrame | None, scope: tuple[str, ...], ctx: EpochContext
) -> DataFrame:
    """Return the rows of the touched scopes."""
    if keys is None or not scope:
        return rows
    named = keys.selectExpr(*(f"{_KEY}{p} AS {ident(c)}" for p, c in enumerate(scope)))
    return keyed.semi_join(rows, named, scope, few=ctx.inputs.few)
