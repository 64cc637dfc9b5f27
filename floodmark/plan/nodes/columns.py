"""A node with one more column."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.bind.scope import fresh_name
from floodmark.plan.expr.expressions import ColumnRef, Expr


def with_column(
    node: n.Node, expr: Expr, avoid: frozenset[str] = frozenset()
) -> tuple[n.Node, str]:
    """Return the node with the expression as one of its columns, and that column's name."""
    if isinstance(expr, ColumnRef):
        return node, expr.name
    name = fresh_name("__expr", set(node.names) | avoid)
    return n.Project(node, (*node.identity, (name, expr))), name
