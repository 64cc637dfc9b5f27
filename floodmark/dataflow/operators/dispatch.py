"""Which function computes which node: changes, and rows at a version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.dataflow.operators import (
    aggregate,
    filter,
    hop,
    join,
    over,
    project,
    project_set,
    session,
    set_operation,
    temporal_filter,
    top_n,
    tumble,
    union_all,
    values,
)
from floodmark.dataflow.operators.context import EpochContext
from floodmark.plan import nodes as n
from floodmark.spark.rows import Rows
from floodmark.stream.properties import stream_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


BATCH = (
    n.Scan, n.Values, n.Project, n.Filter, n.Tumble, n.Hop, n.Session, n.UnionAll, n.Join,
    n.LookupJoin, n.Aggregate, n.CloseAggregate, n.TopN, n.OverWindow, n.SetOperation, n.ProjectSet,
    n.TemporalFilter,
)  # fmt: skip
"""The nodes that have a batch form."""


def row_local(node: n.Node, inputs: list[Rows | None], ctx: EpochContext) -> Rows | None:
    """Return the changes of an operator that looks at one row at a time."""
    if isinstance(node, n.UnionAll):
        return union_all.delta(node, inputs)
    rows = inputs[0]
    if rows is None:
        return None
    match node:
        case n.Project():
            return project.delta(node, rows, ctx.now, ctx.seed(node.input))
        case n.Filter():
            return filter.delta(node, rows, ctx.now, ctx.seed(node.input))
        case n.ProjectSet():
            return project_set.delta(node, rows, ctx.now, ctx.seed(node.input))
        case n.Tumble():
            return tumble.delta(node, rows)
        case n.Hop():
            return hop.delta(node, rows)
        case _:
            raise AssertionError(f"{type(node).__name__} does not run incrementally")


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
        case n.UnionAll():
            return union_all.batch(node, frames)
        case n.Join() | n.LookupJoin():
            return join.batch(node, frames[0], frames[1], now, strict=strict)
        case n.Aggregate() | n.CloseAggregate():
            return aggregate.batch(node, frames[0], now, strict=strict)
        case n.TopN():
            cut = node.limit is not None or node.offset
            return top_n.batch(node, frames[0], stream_key.of(node.input) if cut else ())
        case n.OverWindow():
            return over.batch(node, frames[0], now, stream_key.of(node.input))
        case n.SetOperation():
            return set_operation.batch(node, frames[0], frames[1])
        case _:
            raise AssertionError(f"{type(node).__name__} has no batch form yet")
