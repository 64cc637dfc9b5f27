"""Which function computes which operator: changes, and rows at a version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
    over,
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
from floodmark.dataflow.operators.context import Changes, EpochContext, FileFilter, Input
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.walks import stream_key
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.bounds import restrict_bounds as bounds_among
from floodmark.stream.properties.dynamic_filter import is_dynamic_filter
from floodmark.tables import bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


BATCH = (
    n.Scan, n.Values, n.Project, n.Filter, n.Tumble, n.Hop, n.Session, n.UnionAll, n.Join,
    n.LookupJoin, n.Aggregate, n.CloseAggregate, n.TopN, n.OverWindow, n.SetOperation, n.ProjectSet,
    n.TemporalFilter,
)  # fmt: skip
"""The nodes that have a batch form."""
_ROW_LOCAL = (n.Project, n.Filter, n.Tumble, n.Hop, n.ProjectSet)


def delta(op: StreamOperator[Any], inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of an operator in this epoch, None when there are none."""
    match len(inputs):
        case 0:
            return _of_none(op, ctx)
        case 1:
            return _of_one(op, inputs[0], ctx)
        case 2 if not isinstance(op.node, n.UnionAll):
            return _of_two(op, inputs[0], inputs[1], ctx)
        case _:
            return union_all.delta(op, inputs)


def _of_none(op: StreamOperator[Any], ctx: EpochContext) -> Rows | None:
    match op.node:
        case n.Scan():
            return ctx.inputs.changes(op.node)
        case n.Values():
            return values.delta(op, ctx)
        case _:
            raise _missing(op.node)


def _of_one(op: StreamOperator[Any], below: Input, ctx: EpochContext) -> Rows | None:
    match op.node:
        case n.Project():
            return project.delta(op, below, ctx)
        case n.Filter():
            return filter.delta(op, below, ctx)
        case n.GrowingSeries():
            return growing_series.delta(op, below, ctx)
        case n.ProjectSet():
            return project_set.delta(op, below, ctx)
        case n.Tumble():
            return tumble.delta(op, below)
        case n.Hop():
            return hop.delta(op, below)
        case n.UnionAll():
            return union_all.delta(op, [below])
        case n.Aggregate():
            return aggregate.delta(op, below, ctx)
        case n.CloseAggregate():
            return close_aggregate.delta(op, below, ctx)
        case n.SortBuffer():
            return sort_buffer.delta(op, below, ctx)
        case n.MaterializeProject():
            return materialize_project.delta(op, below, ctx)
        case n.CloseSession():
            return close_session.delta(op, below, ctx)
        case n.Session():
            return session.delta(op, below, ctx)
        case n.OverWindow():
            return over.delta(op, below, ctx)
        case n.TopN():
            return top_n.delta(op, below, ctx)
        case n.TemporalFilter():
            return temporal_filter.delta(op, below, ctx)
        case _:
            raise _missing(op.node)


def _of_two(op: StreamOperator[Any], left: Input, right: Input, ctx: EpochContext) -> Rows | None:
    match op.node:
        case n.Join(kind=n.JoinKind.FULL):
            return full_join.delta(op, left, right, ctx)
        case n.Join() if is_dynamic_filter(op.node):
            return dynamic_filter.delta(op, left, right, ctx)
        case n.Join():
            return join.delta(op, left, right, ctx)
        case n.LookupJoin():
            return lookup_join.delta(op, left, right, ctx)
        case n.SetOperation():
            return set_operation.delta(op, left, right, ctx)
        case _:
            raise _missing(op.node)


def _missing(node: n.Node) -> AssertionError:
    return AssertionError(f"{type(node).__name__} does not run incrementally")


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
    match op.node:
        case n.Scan():
            read = ctx.inputs.rows_after if after else ctx.inputs.rows_before
            return Leaf(read(op.node, keeps))
        case n.Aggregate():
            return Leaf(aggregate.at_rest(op, own, ctx, keeps, after=after))
        case _:
            return None


LeafOf = Callable[[n.Node, Bounds, FileFilter | None], Leaf | None]
"""Returns the rows of a leaf, at least those within bounds, of the files that matter; None for a
node that is computed from its inputs."""
Finish = Callable[[n.Node, "DataFrame | None"], "DataFrame | None"]
"""Returns the rows of a node, perhaps written; it is not asked within a row-local chain."""


def rows_of(
    node: n.Node,
    leaf: LeafOf,
    spark: SparkSession,
    now: int,
    *,
    within: Bounds = EVERYWHERE,
    strict: bool = False,
    finish: Finish = lambda node, rows: rows,
) -> DataFrame | None:
    """Return the rows of a plan from those of its leaves, at least those within bounds.

    `strict` raises where a row is refused. None is an empty relation.
    """

    def rows(node: n.Node, within: Bounds, top: tuple[n.Node, Bounds] | None) -> DataFrame | None:
        """`top` is where a chain of row-local nodes begins whose last one is above, and bounds."""
        chain = (node, within) if top is None else top
        rows_here = leaf(node, within, bounds.keeper(*chain) if chain[1] else None)
        inner = top is not None and (rows_here is not None or isinstance(node, _ROW_LOCAL))
        if rows_here is None:
            below = chain if chain[1] and isinstance(node, _ROW_LOCAL) else None
            frames = [rows(i, w, below) for i, w in _inputs_within(node, within)]
            rows_here = Leaf(_from_inputs(node, frames, spark, now, strict=strict))
        return rows_here.rows if inner else finish(node, rows_here.rows)

    return rows(node, within, None)


def rows_over(node: n.Node, scanned: DataFrame, spark: SparkSession, now: int) -> DataFrame:
    """Return the rows of a plan where these are all that it scans."""

    def leaf(node: n.Node, within: Bounds, keeps: FileFilter | None) -> Leaf | None:
        scans = isinstance(node, n.Scan)
        return Leaf(scanned.selectExpr(*map(ident, node.names))) if scans else None

    rows = rows_of(node, leaf, spark, now)
    assert rows is not None
    return rows


def _inputs_within(node: n.Node, within: Bounds) -> list[tuple[n.Node, Bounds]]:
    """Return the inputs, each with bounds of the rows that those within bounds come from."""
    match node:
        case n.UnionAll():
            return [(b, bounds.of_branch(node, b, within)) for b in node.branches]
        case n.Join():
            return [*zip(node.inputs, bounds.of_sides(node, within), strict=True)]
        case n.Aggregate() | n.CloseAggregate() | n.TopN():
            return [(node.input, bounds_among(within, node.group))]
        case n.OverWindow():
            return [(node.input, bounds_among(within, node.partition))]
        case n.Filter():
            return [(node.input, within)]
        case n.Project():
            plain = {name: e.name for name, e in node.columns if isinstance(e, ColumnRef)}
            return [(node.input, {plain[c]: ends for c, ends in within.items() if c in plain})]
        case _:
            return [(below, EVERYWHERE) for below in node.inputs]


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
            return over.batch(node, frames[0], now, stream_key(node.input))
        case n.SetOperation():
            return set_operation.batch(node, frames[0], frames[1])
        case _:
            raise AssertionError(f"{type(node).__name__} has no batch form yet")
