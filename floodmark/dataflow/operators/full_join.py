"""Full join: both sides recomputed for the touched keys.

A pair that the residual condition refuses is a dead letter and counts as a match of both its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.operators import join
from floodmark.dataflow.operators.join import LEFT, RIGHT
from floodmark.dataflow.partitions import recompute_partitions
from floodmark.dataflow.partitions.recompute_partitions import AFTER
from floodmark.plan import nodes as n
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.join import StreamJoin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_OTHER = "__after_of_right"


def delta(op: StreamJoin, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the touched keys."""
    node = op.node
    failing = join.failing_residual(node, ctx.now) is not None

    def compute(tagged: list[DataFrame]) -> DataFrame:
        return _join(node, tagged[0], tagged[1], ctx.now)

    return recompute_partitions.delta(op, inputs, compute, ctx, failing=failing)


def _join(node: n.Join, left: DataFrame, right: DataFrame, now: int) -> DataFrame:
    """Return the full join of rows before and of rows after, and `__error` where ON can fail."""
    from pyspark.sql import functions as F

    failing = join.failing_residual(node, now)
    right = right.withColumnRenamed(AFTER, _OTHER)
    errors = []
    if failing is not None:
        left, right = join.add_flag(left, LEFT), join.add_flag(right, RIGHT)
        errors = [join.pair_error(node, failing, LEFT, RIGHT)]
    condition = F.expr(join.condition_of(node, now, f"{AFTER} = {_OTHER}"))
    joined = left.join(right, condition, "full")
    after = f"coalesce({AFTER}, {_OTHER}) AS {AFTER}"
    return joined.selectExpr(*map(ident, node.names), after, *errors)
