"""INTERSECT and EXCEPT [ALL]: recomputed for the rows that changed, by how often each side has one.

NULLs are equal. Of ALL each copy of a row has its number, from 1, whatever order they come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.partitions import recompute_partitions
from floodmark.dataflow.partitions.recompute_partitions import AFTER
from floodmark.plan import nodes as n
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.set_operation import StreamSetOperation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_LEFT, _RIGHT = "__left", "__right"
"""BIGINT: how many rows of the side are equal."""


def delta(op: StreamSetOperation, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the rows that changed on either side."""
    node = op.node

    def compute(tagged: list[DataFrame]) -> DataFrame:
        return batch(node, tagged[0], tagged[1], (AFTER,))

    return recompute_partitions.delta(op, inputs, compute, ctx)


def batch(
    node: n.SetOperation, left: DataFrame, right: DataFrame, apart: tuple[str, ...] = ()
) -> DataFrame:
    """Return the rows of the set operation: hidden columns take no part, but those of `apart`."""
    names, others = ([ident(c) for c in (*own, *apart)] for own in node.positional_columns)
    renamed = [f"{b} AS {a}" for a, b in zip(names, others, strict=True)]
    ours = left.selectExpr(*names, f"1L AS {_LEFT}", f"0L AS {_RIGHT}")
    theirs = right.selectExpr(*renamed, f"0L AS {_LEFT}", f"1L AS {_RIGHT}")
    counted = ours.unionAll(theirs).groupBy(*names).agg({_LEFT: "sum", _RIGHT: "sum"})
    counted = counted.selectExpr(
        *names, f"`sum({_LEFT})` AS {_LEFT}", f"`sum({_RIGHT})` AS {_RIGHT}"
    )
    intersects = node.kind is n.SetKind.INTERSECT
    if not node.all:
        there = f"{_LEFT} > 0 AND {_RIGHT} {'>' if intersects else '='} 0"
        return counted.where(there).selectExpr(*names)
    times = f"least({_LEFT}, {_RIGHT})" if intersects else f"{_LEFT} - {_RIGHT}"
    copies = f"CASE WHEN {times} > 0 THEN sequence(1L, {times}) END"
    return counted.selectExpr(*names, f"explode({copies}) AS {ident(node.copy)}")
