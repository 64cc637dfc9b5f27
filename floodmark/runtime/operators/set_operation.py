"""INTERSECT and EXCEPT [ALL] over rows at a version; NULLs are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def batch(node: n.SetOperation, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the rows of the set operation: hidden columns take no part."""
    left, right = (
        frame.selectExpr(*(quoted(c) for c in child.names if not is_hidden(c)))
        for frame, child in ((left, node.left), (right, node.right))
    )
    if node.kind is n.SetKind.INTERSECT:
        return left.intersectAll(right) if node.all else left.intersect(right)
    return left.exceptAll(right) if node.all else left.subtract(right)
