"""Touched scope: an operator's rows before and after the epoch, and their difference.

Every input is restricted to the values of its scope columns that occur among the changes of any
input, once as it was before the epoch and once as it is after it. Both go through the operator's
batch form in one pass, kept apart by `__after`; what only one of them has is a change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.operators.context import EpochContext, RowsAtRest
from floodmark.dataflow.operators.state_cleaning import arrangement_of
from floodmark.plan import nodes as n
from floodmark.spark import keyed
from floodmark.spark.rows import Rows, empty
from floodmark.spark.types import ident
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds, hull
from floodmark.stream.properties.state import rereadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


AFTER = "__after"
"""BOOLEAN: the row is of the input after the epoch, not before it."""
_KEY = "__scope_"
Sides = tuple["DataFrame | None", "DataFrame | None"]
"""Rows before and after the epoch."""
Scopes = Sequence[tuple[str, ...]]
"""The scope columns of each input; they meet by position. Without any, everything is touched."""
Narrow = Callable[["DataFrame"], "DataFrame"]
"""Chooses among the rows of the touched scopes; the changed rows are there once more, to show the
places of changes: they have NULL in `__after`, and none is chosen."""
Batch = Callable[[list["DataFrame"]], "DataFrame"]
"""The operator over inputs that all have `__after`: rows that differ in it never meet."""


def delta(
    node: n.Node,
    scopes: Scopes,
    batch: Batch,
    ctx: EpochContext,
    *,
    failing: bool = False,
    narrow: Narrow | None = None,
    near: Bounds = EVERYWHERE,
) -> Rows | None:
    """Return the changes of a node: of the scopes that the changes of its inputs touch.

    With `failing` the batch form gives `__error`, too: a row that has it goes to the dead letters.
    `narrow` leaves out rows of the scopes of its only input that no change concerns; those that it
    chooses are within the bounds `near`.
    """
    if ctx.inputs.fills:
        return _initial(node, batch, ctx, failing=failing)
    changes = [ctx.materialized_delta(child) for child in node.inputs]
    if all(frame is None for frame in changes):
        return None
    keys = _touched(changes, scopes)
    within = [{**bounds, **near} for bounds in _within(node, scopes, changes, ctx)]
    inputs = [
        _tagged(node, i, scope, keys, bounds, ctx)
        for i, (scope, bounds) in enumerate(zip(scopes, within, strict=True))
    ]
    if narrow is not None:
        inputs = [narrow(_with_places(node, inputs[0], changes[0]))]
    rows = batch(inputs)
    names = [ident(c) for c in node.names]
    weight = f"CASE WHEN {AFTER} THEN 1 ELSE -1 END AS {WEIGHT}"
    error = [ERROR] if failing else []
    return Rows(rows.selectExpr(*names, weight, *error), failing=failing)


def _initial(
    node: n.Node, batch: Batch, ctx: EpochContext, *, failing: bool = False
) -> Rows | None:
    """Return the rows of a node that had none: all of them come."""
    if all(ctx.delta(child) is None for child in node.inputs):
        return None
    inputs = []
    for i, child in enumerate(node.inputs):
        if rereadable(child):
            rows = ctx.initial_rows(child)
        else:
            _, rows = _before_and_after(node, i, EVERYWHERE, ctx)
        rows = empty(ctx.inputs.spark, child) if rows is None else rows
        inputs.append(rows.selectExpr(*map(ident, child.names), f"TRUE AS {AFTER}"))
    names = [ident(c) for c in node.names]
    error = [ERROR] if failing else []
    frame = batch(inputs).selectExpr(*names, f"1 AS {WEIGHT}", *error)
    return Rows(frame, failing=failing, inserts=True)


def delta_from_own(
    node: n.Node,
    scope: tuple[str, ...],
    compute: Callable[[DataFrame], DataFrame],
    own: RowsAtRest,
    ctx: EpochContext,
) -> Rows | None:
    """Return the changes of a node whose rows of before are at rest: only those after are computed.

    `scope` are columns of the only input that the node passes on.
    """
    if ctx.inputs.fills:
        (child,) = node.inputs
        return _initial(
            node, lambda inputs: compute(inputs[0].selectExpr(*map(ident, child.names))), ctx
        )
    changes = ctx.materialized_delta(node.inputs[0])
    if changes is None:
        return None
    keys = _touched([changes], [scope])
    (within,) = _within(node, [scope], [changes], ctx)
    names = [ident(c) for c in node.names]
    parts = []
    sides = (own.before(within), _before_and_after(node, 0, within, ctx)[1])
    for rows, weight in zip(sides, (-1, 1), strict=True):
        if rows is not None:
            among = _among(rows, keys, scope, ctx)
            done = compute(among) if weight > 0 else among
            parts.append(done.selectExpr(*names, f"{weight} AS {WEIGHT}"))
    return Rows(reduce(lambda a, b: a.unionAll(b), parts)) if parts else None


def _before_and_after(node: n.Node, i: int, within: Bounds, ctx: EpochContext) -> Sides:
    """Return the rows of a node's input before and after the epoch, at least those in bounds.

    They are read again where they are persisted; otherwise the node has an arrangement of them.
    """
    child = node.inputs[i]
    if rereadable(child):
        return ctx.before(child, within), ctx.after(child, within)
    held = arrangement_of(node, i, ctx)
    return held.before(within), held.after(ctx.materialized_delta(child), within)


def _touched(changes: Sequence[DataFrame | None], scopes: Scopes) -> DataFrame | None:
    """Return the values of the scope columns that changed, `__scope_0`, …; None for no columns."""
    parts = [
        frame.selectExpr(*(f"{ident(c)} AS {_KEY}{p}" for p, c in enumerate(scope)))
        for frame, scope in zip(changes, scopes, strict=True)
        if frame is not None and scope
    ]
    return reduce(lambda a, b: a.unionAll(b), parts) if parts else None


def _within(
    node: n.Node, scopes: Scopes, changes: Sequence[DataFrame | None], ctx: EpochContext
) -> list[Bounds]:
    """Return for each input where the touched values of its scope columns lie."""
    found = []
    for child, scope, frame in zip(node.inputs, scopes, changes, strict=True):
        if frame is not None:
            lie = ctx.bounds(child)
            found.append({f"{p}": lie[c] for p, c in enumerate(scope) if c in lie})
    everywhere = hull(found)
    return [
        {c: everywhere[f"{p}"] for p, c in enumerate(scope) if f"{p}" in everywhere}
        for scope in scopes
    ]


def _tagged(
    node: n.Node,
    i: int,
    scope: tuple[str, ...],
    keys: DataFrame | None,
    within: Bounds,
    ctx: EpochContext,
) -> DataFrame:
    """Return an input's rows of the touched scopes, before and after, told apart by `__after`."""
    child = node.inputs[i]
    names = [ident(c) for c in child.names]
    sides = _before_and_after(node, i, within, ctx)
    parts = [
        frame.selectExpr(*names, f"{after} AS {AFTER}")
        for frame, after in zip(sides, ("FALSE", "TRUE"), strict=True)
        if frame is not None
    ]
    if not parts:
        return empty(ctx.inputs.spark, child).selectExpr("*", f"TRUE AS {AFTER}")
    rows = reduce(lambda a, b: a.unionAll(b), parts)
    return _among(rows, keys, scope, ctx)


def _with_places(node: n.Node, rows: DataFrame, changes: DataFrame | None) -> DataFrame:
    """Return tagged rows, and the changed ones with NULL in `__after`."""
    if changes is None:
        return rows
    names = [ident(c) for c in node.inputs[0].names]
    return rows.unionAll(changes.selectExpr(*names, f"CAST(NULL AS BOOLEAN) AS {AFTER}"))


def _among(
    rows: DataFrame, keys: DataFrame | None, scope: tuple[str, ...], ctx: EpochContext
) -> DataFrame:
    """Return the rows of the touched scopes."""
    if keys is None or not scope:
        return rows
    named = keys.selectExpr(*(f"{_KEY}{p} AS {ident(c)}" for p, c in enumerate(scope)))
    return keyed.semi_join(rows, named, scope, few=ctx.inputs.few)
