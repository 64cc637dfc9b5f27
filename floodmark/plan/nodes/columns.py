"""Columns that are added to a node, and their names."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, Expr


def with_column(
    node: n.Node, expr: Expr, avoid: frozenset[str] = frozenset()
) -> tuple[n.Node, str]:
    """Return the node with the expression as one of its columns, and that column's name."""
    if isinstance(expr, ColumnRef):
        return node, expr.name
    name = fresh_name("__expr", set(node.names) | avoid)
    return n.Project(node, (*node.identity, (name, expr))), name


def fresh_name(name: str, taken: set[str]) -> str:
    """Return the name, numbered where it is taken, and take it.

    >>> taken = {"a", "a_1"}
    >>> fresh_name("a", taken), fresh_name("b", taken), sorted(taken)
    ('a_2', 'b', ['a', 'a_1', 'a_2', 'b'])
    """
    fresh, count = name, 0
    while fresh in taken:
        count += 1
        fresh = f"{name}_{count}"
    taken.add(fresh)
    return fresh
