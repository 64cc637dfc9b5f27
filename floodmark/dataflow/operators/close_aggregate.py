"""Aggregate that emits on window close: each group once, when the watermark has passed it.

Over a persisted append-only input it keeps nothing: it reads the rows between the last watermark
and this one. Over any other input it keeps accumulators and releases them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from floodmark.changelog import ERROR
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.groups import accumulators as acc, transitions
from floodmark.dataflow.groups.shared_state import binding_texts
from floodmark.dataflow.operators import aggregate
from floodmark.plan import nodes as n
from floodmark.spark.literals import literal
from floodmark.spark.rows import Rows, constants, set_weight
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.close_aggregate import StreamCloseAggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(op: StreamCloseAggregate, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the groups that this epoch's watermark closes."""
    (below,) = inputs
    node = op.node
    before = ctx.inputs.watermark(op.input, node.window, before=True)
    after = ctx.inputs.watermark(op.input, node.window, before=False)
    if ctx.inputs.fills:
        before = None
    if not op.stateless:
        return _from_state(op, below, ctx, after)
    if after is None or after == before:
        return None
    return _from_input(node, below, ctx, before, after)


def _from_input(
    node: n.CloseAggregate, below: Input, ctx: EpochContext, before: Any, after: Any
) -> Rows | None:
    rows = below.rows_after({node.window: (before, after)} if before is not None else {})
    if rows is None:
        return None
    closed = _close_windows(node, rows, ctx, before, after)
    return replace(closed, frame=set_weight(closed.frame), consolidated=True)


def _close_windows(
    node: n.CloseAggregate, rows: DataFrame, ctx: EpochContext, before: Any, after: Any
) -> Rows:
    type_ = node.input.field(node.window).type
    window = ident(node.window)
    bounds = {"__after": literal(after, type_)}
    condition = f"{window} < __after"
    if before is not None:
        bounds["__before"] = literal(before, type_)
        condition += f" AND {window} >= __before"
    names = [ident(name) for name in node.input.names]
    closed = rows.selectExpr("*", constants(bounds)).where(condition).selectExpr(*names)
    return aggregate.compute(node, closed, ctx.now)


def _from_state(
    op: StreamCloseAggregate, below: Input, ctx: EpochContext, after: Any
) -> Rows | None:
    node = op.node
    parts = transitions.parts_of(node, op.keeps, ctx.now)
    settled = aggregate.accept_changes(op, below, ctx)
    if settled is None and after is None:
        return None
    state = aggregate.state_of(op, ctx, parts)
    merged = None
    if settled is not None:
        merged = transitions.transitions(node, below, settled, parts, state, ctx)
    type_ = node.input.field(node.window).type
    bound = literal(after, type_)
    closed = "FALSE" if after is None else f"coalesce({ident(node.window)} < {bound}, FALSE)"
    schema = transitions.transition_schema(node, parts)
    released = state.release(merged, schema, closed)
    return None if released is None else _values(node, released, parts)


def _values(node: n.CloseAggregate, released: DataFrame, parts: list[acc.Accumulation]) -> Rows:
    """Return the output rows of stored groups; a group without a value is a dead letter."""
    values = [
        f"CAST({part.finish.replace('{p}', '')} AS {spark_type(call.type)}) AS {ident(name)}"
        for part, (name, call) in zip(parts, node.aggregates, strict=True)
    ]
    refused = aggregate.refusal(node, parts, "")
    error = [] if refused is None else [f"{refused} AS {ERROR}"]
    bound = binding_texts(parts, "")
    if bound:
        released = released.selectExpr("*", *bound)
    frame = set_weight(released.selectExpr(*map(ident, node.group), *values, *error))
    return Rows(frame, failing=refused is not None)
