"""Inner and left join.

Inner: ΔL ⋈ R_old ∪ L_new ⋈ ΔR. Left: ΔL ⟕ R_old, and for the keys K that ΔR touches
L_new⋉K ⟕ R_new − L_new⋉K ⟕ R_old. A side that did not change is not read for itself. Keys compare
as SQL says: NULL equals nothing.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Protocol

from floodmark.changelog import WEIGHT
from floodmark.plan import nodes as n
from floodmark.runtime.operators.rows import Rows, flipped, weighted
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Sides(Protocol):
    """The inputs of a join in one epoch; None is an empty relation."""

    def delta(self, node: n.Node) -> DataFrame | None:
        """Return the settled changes of an input, readable twice."""

    def old(self, node: n.Node) -> DataFrame | None:
        """Return the input's rows before the epoch."""

    def new(self, node: n.Node) -> DataFrame | None:
        """Return the input's rows after the epoch."""


def delta(node: n.Join, sides: Sides, now: int) -> Rows | None:
    """Return the changes of the join."""
    left, right = sides.delta(node.left), sides.delta(node.right)
    parts: list[DataFrame | None] = []
    if left is not None:
        parts.append(_padded_or_joined(node, left, sides.old(node.right), now))
    if right is not None:
        after = sides.new(node.left)
        if node.kind is n.JoinKind.INNER:
            parts.append(_join(node, after, right, now))
        elif after is not None:
            touched = weighted(_touching(node, after, right))
            parts.append(_padded_or_joined(node, touched, sides.new(node.right), now))
            before = _padded_or_joined(node, touched, sides.old(node.right), now)
            parts.append(None if before is None else flipped(before))
    present = [part for part in parts if part is not None]
    return Rows(reduce(lambda a, b: a.unionAll(b), present)) if present else None


def batch(node: n.Join, left: DataFrame, right: DataFrame, now: int) -> DataFrame:
    """Return the joined rows, for any kind of join."""
    how = {
        n.JoinKind.INNER: "inner",
        n.JoinKind.LEFT: "left",
        n.JoinKind.RIGHT: "right",
        n.JoinKind.FULL: "full",
        n.JoinKind.SEMI: "left_semi",
        n.JoinKind.ANTI: "left_anti",
    }[node.kind]
    condition = _condition(node, now)
    if condition is None:
        return left.crossJoin(right) if how == "inner" else left.join(right, _always(), how)
    return left.join(right, condition, how).selectExpr(*(quoted(c) for c in node.names))


def _condition(node: n.Join, now: int) -> Column | None:
    from pyspark.sql import functions as F

    parts = [f"{quoted(a)} = {quoted(b)}" for a, b in node.equi]
    if node.residual is not None:
        parts.append(f"({compile_expr(node.residual, now).value})")
    return F.expr(" AND ".join(parts)) if parts else None


def _always() -> Column:
    from pyspark.sql import functions as F

    return F.lit(True)


def _padded_or_joined(
    node: n.Join, left: DataFrame, right: DataFrame | None, now: int
) -> DataFrame | None:
    """Join left changes with right rows; `left` carries the weight."""
    if right is not None:
        condition = _condition(node, now)
        how = "inner" if node.kind is n.JoinKind.INNER else "left"
        joined = left.crossJoin(right) if condition is None else left.join(right, condition, how)
        return joined.selectExpr(*(quoted(c) for c in node.names), WEIGHT)
    if node.kind is n.JoinKind.INNER:
        return None
    padding = [f"CAST(NULL AS {spark_type(f.type)}) AS {quoted(f.name)}" for f in node.right.schema]
    return left.selectExpr(*(quoted(c) for c in node.left.names), *padding, WEIGHT)


def _join(node: n.Join, left: DataFrame | None, right: DataFrame, now: int) -> DataFrame | None:
    if left is None:
        return None
    condition = _condition(node, now)
    joined = left.crossJoin(right) if condition is None else left.join(right, condition)
    return joined.selectExpr(*(quoted(c) for c in node.names), WEIGHT)


def _touching(node: n.Join, left: DataFrame, right_changes: DataFrame) -> DataFrame:
    """Return the left rows whose key occurs among the right side's changes."""
    from pyspark.sql import functions as F

    if not node.equi:
        return left
    names = [(a, f"__k{i}", b) for i, (a, b) in enumerate(node.equi)]
    keys = right_changes.selectExpr(*(f"{quoted(b)} AS {k}" for _, k, b in names)).distinct()
    condition = " AND ".join(f"{quoted(a)} = {k}" for a, k, _ in names)
    return left.join(F.broadcast(keys), F.expr(condition), "left_semi")
