"""Which function computes which operator: changes, and rows at a version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from floodmark.dataflow.context import Changes, EpochContext, FileFilter, Input
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
from floodmark.plan import nodes as n
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream import operators as ops
from floodmark.stream.operators import Operator
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.walks import stream_key
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables import bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


BATCH = (
    n.Scan, n.Values, n.Project, n.Filter, n.Tumble, n.Hop, n.Session, n.UnionAll, n.Join,
    n.LookupJoin, n.Aggregate, n.CloseAggregate, n.TopN, n.OverWindow, n.SetOperation, n.ProjectSet,
    n.TemporalFilter,
)  # fmt: skip
"""The nodes that have a batch form."""


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
        case ops.StreamJoin() if op.is_dynamic_filter:
            return dynamic_filter.delta(op, inputs, ctx)
        case ops.StreamJoin() if op.node.kind is n.JoinKind.FULL:
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


class Leaf(NamedTuple):
    """Rows that are not computed from those of inputs; None is an empty relation."""

    rows: DataFrame | None


def at_rest(
    op: StreamOperator[Any],
    own: Changes,
    ctx: EpochContext,
    keeps: FileFilter | None,
    *,
    after: bool,
) -> Leaf | None:
    """Return an operator's rows before or after the epoch, where they are stored; else None.

    `own` are its changes: groups are of after the epoch once those are known.
    """
    match op:
        case ops.StreamScan():
            read = ctx.inputs.rows_after if after else ctx.inputs.rows_before
            return Leaf(read(op.node, keeps))
        case ops.StreamAggregate():
            return Leaf(aggregate.at_rest(op, own, ctx, keeps, after=after))
        case _:
            return None


LeafOf = Callable[[n.Node], Leaf | None]
"""Returns the rows of a leaf; None for a node that is computed from its inputs."""
LeafWithin = Callable[[StreamOperator[Any], Bounds, FileFilter | None], Leaf | None]
"""The same for an operator, at least those within bounds, of the files that matter."""
Finish = Callable[[StreamOperator[Any], "DataFrame | None"], "DataFrame | None"]
"""Returns the rows of an operator, perhaps written; it is not asked within a row-local chain."""


def rows_of(
    node: n.Node, leaf: LeafOf, spark: SparkSession, now: int, *, strict: bool = False
) -> DataFrame | None:
    """Return the rows of a plan from those of its leaves; None is an empty relation.

    `strict` raises where a row is refused.
    """
    known = leaf(node)
    if known is not None:
        return known.rows
    frames = [rows_of(below, leaf, spark, now, strict=strict) for below in node.inputs]
    return _from_inputs(node, frames, spark, now, strict=strict)


def rows_over(node: n.Node, scanned: DataFrame, spark: SparkSession, now: int) -> DataFrame:
    """Return the rows of a plan where these are all that it scans."""

    def leaf(node: n.Node) -> Leaf | None:
        scans = isinstance(node, n.Scan)
        return Leaf(scanned.selectExpr(*map(ident, node.names))) if scans else None

    rows = rows_of(node, leaf, spark, now)
    assert rows is not None
    return rows


def rows_within(
    op: StreamOperator[Any],
    within: Bounds,
    leaf: LeafWithin,
    spark: SparkSession,
    now: int,
    finish: Finish = lambda op, rows: rows,
) -> DataFrame | None:
    """Return the rows of an operator from those of its leaves, at least those within bounds."""

    def rows(
        op: StreamOperator[Any], within: Bounds, top: tuple[StreamOperator[Any], Bounds] | None
    ) -> DataFrame | None:
        """`top` is where a chain of row-local operators begins whose last one is above."""
        chain = (op, within) if top is None else top
        known = leaf(op, within, bounds.keeper(*chain) if chain[1] else None)
        inner = top is not None and (known is not None or op.is_row_local)
        if known is None:
            below = chain if chain[1] and op.is_row_local else None
            inputs = zip(op.inputs, op.input_bounds(within), strict=True)
            frames = [rows(i, bounds_below, below) for i, bounds_below in inputs]
            known = Leaf(_from_inputs(op.node, frames, spark, now, strict=False))
        return known.rows if inner else finish(op, known.rows)

    return rows(op, within, None)


def _from_inputs(
    node: n.Node,
    frames: Sequence[DataFrame | None],
    spark: SparkSession,
    now: int,
    *,
    strict: bool,
) -> DataFrame | None:
    """Return a node's rows from those of its inputs, of which some may be empty."""
    match node:
        case n.UnionAll():
            return union_all.batch(node, frames)
        case n.Join():
            frames = join.with_padding_side(node, frames, spark)
    present = [frame for frame in frames if frame is not None]
    if len(present) < len(frames):
        return None
    return batch(node, present, spark, now, strict=strict)


def batch(
    node: n.Node, frames: list[DataFrame], spark: SparkSession, now: int, *, strict: bool = False
) -> DataFrame:
    """Return a node's rows from those of its inputs; `strict` raises where a row is refused."""
    match node:
        case n.Values():
            return values.batch(node, spark, now, strict=strict)
        case n.Project():
            return project.batch(node, frames[0], now, strict=strict)
        case n.Filter():
            return filter.batch(node, frames[0], now, strict=strict)
        case n.TemporalFilter():
            return temporal_filter.batch(node, frames[0], now)
        case n.ProjectSet():
            return project_set.batch(node, frames[0], now, strict=strict)
        case n.Tumble():
            return tumble.batch(node, frames[0])
        case n.Hop():
            return hop.batch(node, frames[0])
        case n.Session():
            return session.batch(node, frames[0])
        case n.Join() | n.LookupJoin():
            return join.batch(node, frames[0], frames[1], now, strict=strict)
        case n.Aggregate() | n.CloseAggregate():
            return aggregate.batch(node, frames[0], now, strict=strict)
        case n.TopN():
            cut = node.limit is not None or node.offset
            return top_n.batch(node, frames[0], stream_key(node.input) if cut else ())
        case n.OverWindow():
            return over_window.batch(node, frames[0], now, stream_key(node.input))
        case n.SetOperation():
            return set_operation.batch(node, frames[0], frames[1])
        case _:
            raise AssertionError(f"{type(node).__name__} has no batch form yet")
