"""Dynamic filters: semi joins that compare a left column with the one row of the right side.

A change of that row concerns the left rows between its old and its new value.
"""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.expressions import Call, Cast, ColumnRef, Expr

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def is_dynamic_filter(node: n.Join) -> bool:
    """Tell whether a join is a dynamic filter: without a right row nothing passes."""
    test = node.residual
    if node.kind is not n.JoinKind.SEMI or node.equi or not _has_one_row(node.right):
        return False
    if not isinstance(test, Call) or test.function not in _COMPARISONS or can_fail(test):
        return False
    return all(_column(arg) is not None for arg in test.args) and any(
        _column(arg) in node.right.names for arg in test.args
    )


def _column(expr: Expr) -> str | None:
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr.name if isinstance(expr, ColumnRef) else None


def _has_one_row(node: n.Node) -> bool:
    while isinstance(node, n.Project):
        node = node.input
    return isinstance(node, n.Aggregate) and not node.group
