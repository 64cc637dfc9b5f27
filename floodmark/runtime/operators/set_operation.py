"""INTERSECT and EXCEPT [ALL]: recomputed for the rows that changed; NULLs are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.runtime.operators import scope
from floodmark.runtime.operators.rows import Rows
from floodmark.runtime.operators.scope import AFTER
from floodmark.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.runtime.evaluation import Evaluation


def delta(node: n.SetOperation, around: Evaluation) -> Rows | None:
    """Return the changes of the rows that changed on either side."""

    def compute(inputs: list[DataFrame]) -> DataFrame:
        return batch(node, inputs[0], inputs[1], (AFTER,))

    return scope.delta(node, [_compared(node.left), _compared(node.right)], compute, around)


def _compared(side: n.Node) -> tuple[str, ...]:
    return tuple(c for c in side.names if not is_hidden(c))


def batch(
    node: n.SetOperation, left: DataFrame, right: DataFrame, apart: tuple[str, ...] = ()
) -> DataFrame:
    """Return the rows of the set operation: hidden columns take no part, but those of `apart`."""
    left, right = (
        frame.selectExpr(*map(quoted, (*_compared(child), *apart)))
        for frame, child in ((left, node.left), (right, node.right))
    )
    if node.kind is n.SetKind.INTERSECT:
        return left.intersectAll(right) if node.all else left.intersect(right)
    return left.exceptAll(right) if node.all else left.subtract(right)
