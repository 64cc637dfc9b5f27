"""Which function computes the changes of which operator, and where rows are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from floodmark.dataflow.batch import Leaf
from floodmark.dataflow.context import Changes, EpochContext, Input
from floodmark.dataflow.operators import (
    aggregate,
    close_aggregate,
    close_session,
    dynamic_filter,
    filter,
    full_join,
    growing_series,
    hop,
    join,
    lookup_join,
    materialize_project,
    over_window,
    project,
    project_set,
    session,
    set_operation,
    sort_buffer,
    temporal_filter,
    top_n,
    tumble,
    union_all,
    values,
)
from floodmark.spark.rows import Rows
from floodmark.stream import operators as ops
from floodmark.stream.operators import Operator
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.strategy import Method, RecomputeScopes
from floodmark.tables.bounds import FileFilter
from floodmark.tables.keyed_rows import Narrow


def delta(op: Operator, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of an operator in this epoch, None when there are none."""
    match op:
        case ops.StreamScan():
            return ctx.inputs.changes(op.node)
        case ops.StreamValues():
            return values.delta(op, inputs, ctx)
        case ops.StreamProject():
            return project.delta(op, inputs, ctx)
        case ops.StreamMaterializeProject():
            return materialize_project.delta(op, inputs, ctx)
        case ops.StreamFilter():
            return filter.delta(op, inputs, ctx)
        case ops.StreamTemporalFilter():
            return temporal_filter.delta(op, inputs, ctx)
        case ops.StreamProjectSet():
            return project_set.delta(op, inputs, ctx)
        case ops.StreamGrowingSeries():
            return growing_series.delta(op, inputs, ctx)
        case ops.StreamTumble():
            return tumble.delta(op, inputs, ctx)
        case ops.StreamHop():
            return hop.delta(op, inputs, ctx)
        case ops.StreamUnionAll():
            return union_all.delta(op, inputs, ctx)
        case ops.StreamSortBuffer():
            return sort_buffer.delta(op, inputs, ctx)
        case ops.StreamJoin() if op.strategy is Method.DYNAMIC_FILTER:
            return dynamic_filter.delta(op, inputs, ctx)
        case ops.StreamJoin() if isinstance(op.strategy, RecomputeScopes):
            return full_join.delta(op, inputs, ctx)
        case ops.StreamJoin():
            return join.delta(op, inputs, ctx)
        case ops.StreamLookupJoin():
            return lookup_join.delta(op, inputs, ctx)
        case ops.StreamSetOperation():
            return set_operation.delta(op, inputs, ctx)
        case ops.StreamTopN():
            return top_n.delta(op, inputs, ctx)
        case ops.StreamAggregate():
            return aggregate.delta(op, inputs, ctx)
        case ops.StreamCloseAggregate():
            return close_aggregate.delta(op, inputs, ctx)
        case ops.StreamOverWindow():
            return over_window.delta(op, inputs, ctx)
        case ops.StreamSession():
            return session.delta(op, inputs, ctx)
        case ops.StreamCloseSession():
            return close_session.delta(op, inputs, ctx)
        case _:
            assert_never(op)


def at_rest(
    op: StreamOperator[Any],
    own: Changes,
    ctx: EpochContext,
    keeps: FileFilter | None,
    narrow: Narrow,
    *,
    after: bool,
) -> Leaf | None:
    """Return an operator's rows before or after the epoch, where they are stored; else None.

    `own` are its changes: groups are of after the epoch once those are known. `keeps` tells which
    files matter, `narrow` leaves rows out.
    """
    match op:
        case ops.StreamScan():
            read = ctx.inputs.rows_after if after else ctx.inputs.rows_before
            return Leaf(read(op.node, keeps, narrow))
        case ops.StreamAggregate():
            groups = aggregate.group_rows(op, own, ctx, keeps, after=after)
            return Leaf(None if groups is None else narrow.rows(groups))
        case _:
            return None
