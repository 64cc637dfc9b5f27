"""The rows of a plan as a batch: queries, reads of what nothing stores, corrections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, assert_never, get_args

from floodmark.dataflow.key_sets import ALL_KEYS, KeySets
from floodmark.dataflow.operators import (
    aggregate,
    filter,
    hop,
    join,
    over_window,
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
from floodmark.plan import nodes as n
from floodmark.spark.types import ident
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.walks import stream_key
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables import bounds
from floodmark.tables.bounds import FileFilter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMPUTED: tuple[type[n.Node], ...] = get_args(n.ComputedNode)
BATCH: tuple[type[n.Node], ...] = (n.Scan, *COMPUTED)
"""The nodes that a query can be made of."""


class Leaf(NamedTuple):
    """Rows that are not computed from those of inputs; None is an empty relation."""

    rows: DataFrame | None


LeafOf = Callable[[n.Node], Leaf | None]
"""Returns the rows of a leaf; None for a node that is computed from its inputs."""
LeafWithin = Callable[[StreamOperator[Any], Bounds, FileFilter | None, KeySets], Leaf | None]
"""The same for an operator, at least those within bounds, of the files that matter, with keys."""
RowsOfInput = Callable[[int, KeySets], "DataFrame | None"]
"""Returns the rows of an operator's input, by its place, that have keys."""
CompleteKeys = Callable[
    [StreamOperator[Any], Sequence[KeySets], RowsOfInput],
    tuple[Sequence[KeySets], Mapping[int, "DataFrame | None"]],
]
"""Returns the keys of an operator's inputs, with those that one has for another one, and the rows
of those inputs that it has asked for."""
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
    return batch(computed(node), frames, spark, now, strict=strict)


def rows_from_scan(node: n.Node, scanned: DataFrame, spark: SparkSession, now: int) -> DataFrame:
    """Return the rows of a plan where these are all that it scans."""

    def leaf(node: n.Node) -> Leaf | None:
        scans = isinstance(node, n.Scan)
        return Leaf(scanned.selectExpr(*map(ident, node.names))) if scans else None

    rows = rows_of(node, leaf, spark, now)
    assert rows is not None
    return rows


def rows_in_bounds(
    op: StreamOperator[Any],
    within: Bounds,
    leaf: LeafWithin,
    spark: SparkSession,
    now: int,
    finish: Finish = lambda op, rows: rows,
    keys: KeySets = ALL_KEYS,
    complete_keys: CompleteKeys = lambda op, keys, input_rows: (keys, {}),
) -> DataFrame | None:
    """Return the rows of an operator from those of its leaves.

    At least those within bounds that have the keys.
    """

    def rows(
        op: StreamOperator[Any],
        within: Bounds,
        keys: KeySets,
        top: tuple[StreamOperator[Any], Bounds] | None,
    ) -> DataFrame | None:
        """`top` is where a chain of row-local operators begins whose last one is above."""
        chain = (op, within) if top is None else top
        known = leaf(op, within, bounds.keeper(*chain) if chain[1] else None, keys)
        inner = top is not None and (known is not None or op.is_row_local)
        if known is None:
            below = chain if chain[1] and op.is_row_local else None
            near = op.input_bounds(within)

            def input_rows(place: int, keys: KeySets) -> DataFrame | None:
                return rows(op.inputs[place], near[place], keys, below)

            their_keys, asked = complete_keys(op, op.input_bounds(keys), input_rows)
            frames = [
                asked[place] if place in asked else input_rows(place, keys_of)
                for place, keys_of in enumerate(their_keys)
            ]
            known = Leaf(batch(computed(op.node), frames, spark, now))
        return known.rows if inner else finish(op, known.rows)

    return rows(op, within, keys, None)


def is_computed(node: n.Node) -> TypeGuard[n.ComputedNode]:
    """Tell whether rows of a node can be computed from those of its inputs."""
    return isinstance(node, COMPUTED)


def computed(node: n.Node) -> n.ComputedNode:
    """Return a node that is no leaf."""
    assert is_computed(node), f"rows of {type(node).__name__} are read where they are stored"
    return node


def batch(
    node: n.ComputedNode,
    frames: Sequence[DataFrame | None],
    spark: SparkSession,
    now: int,
    *,
    strict: bool = False,
) -> DataFrame | None:
    """Return a node's rows from those of its inputs; None is an empty relation.

    `strict` raises where a row is refused.
    """
    if isinstance(node, n.UnionAll):
        return union_all.batch(node, frames)
    if isinstance(node, n.Join):
        frames = join.with_padding_side(node, frames, spark)
    present = [frame for frame in frames if frame is not None]
    if len(present) < len(frames):
        return None
    match node:
        case n.Values():
            return values.batch(node, spark, now, strict=strict)
        case n.Project():
            return project.batch(node, present[0], now, strict=strict)
        case n.Filter():
            return filter.batch(node, present[0], now, strict=strict)
        case n.TemporalFilter():
            return temporal_filter.batch(node, present[0], now)
        case n.ProjectSet():
            return project_set.batch(node, present[0], now, strict=strict)
        case n.Tumble():
            return tumble.batch(node, present[0])
        case n.Hop():
            return hop.batch(node, present[0])
        case n.Session():
            return session.batch(node, present[0])
        case n.Join() | n.LookupJoin():
            return join.batch(node, present[0], present[1], now, strict=strict)
        case n.Aggregate() | n.CloseAggregate():
            return aggregate.batch(node, present[0], now, strict=strict)
        case n.TopN():
            cut = node.limit is not None or node.offset
            return top_n.batch(node, present[0], stream_key(node.input) if cut else ())
        case n.OverWindow():
            return over_window.batch(node, present[0], now, stream_key(node.input))
        case n.SetOperation():
            return set_operation.batch(node, present[0], present[1])
        case _:
            assert_never(node)
