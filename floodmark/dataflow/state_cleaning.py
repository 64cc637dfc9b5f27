"""State cleaning: rows of kept inputs, below a watermark, that no later change can need."""

from __future__ import annotations

from typing import Any

from floodmark.dataflow.context import EpochContext
from floodmark.dataflow.partitions import frames
from floodmark.dataflow.state.leaving_rows import ExpiredRows
from floodmark.plan.rules.interval_join import shift_to_kind
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.reach import move_at_least


def expired_rows(op: StreamOperator[Any], i: int, ctx: EpochContext) -> ExpiredRows | None:
    """Return which rows of an input go; None where none does.

    The watermarks are those of before the epoch: its own changes are not below them.
    """
    cleaning = op.cleaning[i]
    if ctx.inputs.fills or cleaning is None:
        return None
    kind = op.inputs[i].node.field(cleaning.column).type.kind
    values: list[Any] = []
    for column, distance in cleaning.terms:
        below = next(side for side in op.inputs if column in side.watermark_names)
        bound: Any = ctx.inputs.watermark(below, column, before=True)
        if bound is not None and column != cleaning.column:
            bound = shift_to_kind(bound, distance, kind)
        elif bound is not None and distance:
            bound = move_at_least(bound, distance)
        if bound is None:
            return None
        values.append(bound)
    if not cleaning.last:
        return ExpiredRows(cleaning.column, min(values))
    places, stays = frames.last_rows(op.node, cleaning.last, op.input.stream_key)
    return ExpiredRows(cleaning.column, min(values), places, stays)
