"""Dynamic filter: the left rows that changed, and those between the old and the new right row.

ΔL is compared with the old row. Of the left rows after the epoch, those come that only the new
right row lets pass, and those go that only the old one let pass. No other row is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.join_sides import JoinSides
from floodmark.dataflow.operators import join
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, Expr, transform
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.join import StreamJoin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OLD, _NEW = "__old_", "__new_"


def delta(op: StreamJoin, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the filter."""
    left, right = inputs
    sides = JoinSides(op, left, right, ctx)
    changes = _delta(sides, ctx.now)
    sides.keep()
    return changes


def _delta(sides: JoinSides, now: int) -> Rows | None:
    node, filtered, other = sides.node, sides.kept, sides.other
    changed = filtered.rows, other.rows
    mine, theirs = (sides.delta(side) for side in (filtered, other))
    parts: list[DataFrame] = []
    old = sides.old(other, filtered)
    if mine is not None:
        passed = join.semi_or_anti_join(node, mine, old, now)
        parts += [] if passed is None else [passed]
    if theirs is not None:
        left, new = sides.new(filtered, other), sides.new(other, filtered)
        parts += [] if left is None else [_crossing_rows(node, left, old, new, now)]
    if not parts:
        return None
    frame = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
    return Rows(frame, inserts=theirs is None and changed[0] is not None and changed[0].inserts)


def _crossing_rows(
    node: n.Join, left: DataFrame, old: DataFrame | None, new: DataFrame | None, now: int
) -> DataFrame:
    """Return the left rows that pass with one of the right rows only, with their weights."""
    from pyspark.sql import functions as F

    bounds = left.sparkSession.range(1).selectExpr("id AS __one")
    for side, prefix in ((old, _OLD), (new, _NEW)):
        if side is None:
            bounds = bounds.selectExpr("*", *join.nulls(node.right, prefix))
        else:
            names = [f"{ident(c)} AS {ident(prefix + c)}" for c in node.right.names]
            bounds = bounds.join(side.selectExpr(*names), F.lit(True), "left")
    before, after = (
        f"coalesce({compile_expr(_condition(node, prefix), now).value}, FALSE)"
        for prefix in (_OLD, _NEW)
    )
    moved = left.join(F.broadcast(bounds), F.expr(f"({before}) <> ({after})"), "inner")
    weight = f"CASE WHEN {after} THEN 1 ELSE -1 END AS {WEIGHT}"
    return moved.selectExpr(*map(ident, node.names), weight)


def _condition(node: n.Join, prefix: str) -> Expr:
    """Return the condition over the old or the new right row."""
    assert node.residual is not None
    right = set(node.right.names)

    def rename(e: Expr) -> Expr:
        own = isinstance(e, ColumnRef) and e.name in right
        return ColumnRef(e.type, prefix + e.name) if own and isinstance(e, ColumnRef) else e

    return transform(node.residual, rename)
