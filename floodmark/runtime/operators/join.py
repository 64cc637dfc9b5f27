"""Inner and left join.

Inner: ΔL ⋈ R_old ∪ L_new ⋈ ΔR. Left: ΔL ⟕ R_old, and for the keys K that ΔR touches
L_new⋉K ⟕ R_new − L_new⋉K ⟕ R_old. A side that did not change is not read for itself. Keys compare
as SQL says: NULL equals nothing. A pair that the residual condition refuses is a dead letter and
counts as a match: its left row is not padded.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Protocol

from floodmark.changelog import ERROR, WEIGHT
from floodmark.plan import nodes as n
from floodmark.runtime.operators.keyed import hinted
from floodmark.runtime.operators.rows import ERROR_TYPE, Rows, error_struct, flipped, weighted
from floodmark.spark.expressions import Compiled
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_LEFT, _RIGHT = "__has_left", "__has_right"
"""BOOLEAN: the side of a joined row is a row, not padding."""


class Sides(Protocol):
    """The inputs of a join in one epoch; None is an empty relation."""

    @property
    def few(self) -> bool:
        """Tell whether the epoch changes few rows."""

    def changes(self, node: n.Node) -> Rows | None:
        """Return the changes of an input."""

    def delta(self, node: n.Node, *, once: bool) -> DataFrame | None:
        """Return the changes of an input without failing rows, to be read once or twice."""

    def old(self, node: n.Node) -> DataFrame | None:
        """Return the input's rows before the epoch."""

    def new(self, node: n.Node) -> DataFrame | None:
        """Return the input's rows after the epoch."""


def delta(node: n.Join, sides: Sides, now: int) -> Rows | None:
    """Return the changes of the join."""
    changed = sides.changes(node.left), sides.changes(node.right)
    once = None in changed
    left, right = (sides.delta(side, once=once) for side in (node.left, node.right))
    parts: list[DataFrame | None] = []
    if left is not None:
        parts.append(padded_or_joined(node, left, sides.old(node.right), now))
    if right is not None:
        after = sides.new(node.left)
        if node.kind is n.JoinKind.INNER:
            parts.append(_join(node, after, right, now))
        elif after is not None:
            touched = weighted(_touching(node, after, right, few=sides.few))
            parts.append(padded_or_joined(node, touched, sides.new(node.right), now))
            before = padded_or_joined(node, touched, sides.old(node.right), now)
            parts.append(None if before is None else flipped(before))
    present = [part for part in parts if part is not None]
    if not present:
        return None
    failing = failing_residual(node, now) is not None
    frame = reduce(lambda a, b: a.unionAll(b), present)
    return Rows(frame, failing=failing, inserts=_inserts(node, *changed))


def _inserts(node: n.Join, left: Rows | None, right: Rows | None) -> bool:
    """Tell whether the join only gains rows: so do its inputs, and no padding is taken back."""
    grows = all(side is None or side.inserts for side in (left, right))
    return grows and (node.kind is n.JoinKind.INNER or right is None)


def batch(node: n.Pairing, left: DataFrame, right: DataFrame, now: int) -> DataFrame:
    """Return the joined rows, for any kind of join; pairs that ON refuses are left out."""
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
    names = [quoted(c) for c in node.names]
    failing = failing_residual(node, now)
    if failing is None or how in ("left_semi", "left_anti"):
        return left.join(right, condition, how).selectExpr(*names)
    left, right = _flagged(left, _LEFT), _flagged(right, _RIGHT)
    joined = left.join(right, condition, how)
    refused = f"{_LEFT} AND {_RIGHT} AND ({failing.error}) IS NOT NULL"
    return joined.where(f"NOT coalesce({refused}, false)").selectExpr(*names)


def _condition(node: n.Pairing, now: int) -> Column | None:
    from pyspark.sql import functions as F

    parts = [f"{quoted(a)} = {quoted(b)}" for a, b in node.equi]
    if node.residual is not None:
        found = compile_expr(node.residual, now)
        refused = "" if found.error is None else f"({found.error}) IS NOT NULL OR "
        parts.append(f"({refused}({found.value}))")
    return F.expr(" AND ".join(parts)) if parts else None


def failing_residual(node: n.Pairing, now: int) -> Compiled | None:
    """Return the residual condition if it can refuse a pair."""
    if node.residual is None:
        return None
    found = compile_expr(node.residual, now)
    return None if found.error is None else found


def _flagged(frame: DataFrame, name: str) -> DataFrame:
    return frame.selectExpr("*", f"true AS {name}")


def _error(node: n.Pairing, failing: Compiled) -> str:
    """Return the text of `__error` of a joined row; padding has no right row to refuse."""
    assert failing.error is not None and node.residual is not None
    label = node.residual.span.text if node.residual.span is not None else ""
    struct = error_struct(failing.error, label or "ON", list(node.names))
    return f"CASE WHEN {_RIGHT} AND ({failing.error}) IS NOT NULL THEN {struct} END AS {ERROR}"


def _always() -> Column:
    from pyspark.sql import functions as F

    return F.lit(True)


def padded_or_joined(
    node: n.Pairing, left: DataFrame, right: DataFrame | None, now: int
) -> DataFrame | None:
    """Join left changes, which carry the weight, with right rows; None where there are no pairs."""
    if right is not None:
        how = "inner" if node.kind is n.JoinKind.INNER else "left"
        return _pairs(node, left, right, how, now)
    if node.kind is n.JoinKind.INNER:
        return None
    padding = [f"CAST(NULL AS {spark_type(f.type)}) AS {quoted(f.name)}" for f in node.right.schema]
    failing = failing_residual(node, now) is not None
    error = [f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}"] if failing else []
    return left.selectExpr(*map(quoted, node.left.names), *padding, WEIGHT, *error)


def _join(node: n.Join, left: DataFrame | None, right: DataFrame, now: int) -> DataFrame | None:
    return None if left is None else _pairs(node, left, right, "inner", now)


def _pairs(node: n.Pairing, left: DataFrame, right: DataFrame, how: str, now: int) -> DataFrame:
    """Return the node's columns, the weight that one side carries, and `__error` if ON can fail."""
    condition = _condition(node, now)
    failing = failing_residual(node, now)
    extra = [] if failing is None else [_error(node, failing)]
    if failing is not None:
        right = _flagged(right, _RIGHT)
    joined = left.crossJoin(right) if condition is None else left.join(right, condition, how)
    return joined.selectExpr(*map(quoted, node.names), WEIGHT, *extra)


def _touching(node: n.Join, left: DataFrame, right_changes: DataFrame, *, few: bool) -> DataFrame:
    """Return the left rows whose key occurs among the right side's changes."""
    from pyspark.sql import functions as F

    if not node.equi:
        return left
    names = [(a, f"__k{i}", b) for i, (a, b) in enumerate(node.equi)]
    keys = right_changes.selectExpr(*(f"{quoted(b)} AS {k}" for _, k, b in names)).distinct()
    condition = " AND ".join(f"{quoted(a)} = {k}" for a, k, _ in names)
    return left.join(hinted(keys, few), F.expr(condition), "left_semi")
