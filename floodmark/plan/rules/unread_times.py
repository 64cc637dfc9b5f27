"""Drops columns that are `now()` or `random()` and that nothing above reads.

A subquery `SELECT *, proctime() AS p` gives a lookup join its time and the result nothing. Calls
that stand alone in a column cannot fail: nobody misses their dead letters.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.plan.expressions import Expr, Now, Volatile, columns_of
from floodmark.plan.nodes import Filter, Join, LookupJoin, Node, Project

Columns = frozenset[str]


def drop_unread_times(node: Node) -> Node:
    """Return the plan without such columns; those of the plan itself stay."""
    return _read(node, frozenset(node.names))


def _read(node: Node, above: Columns) -> Node:
    """Return a node of which only the columns `above` are read, and what it tests itself."""
    match node:
        case Project():
            kept = tuple((c, e) for c, e in node.columns if c in above or not _bare(e))
            below = frozenset[str]().union(*(columns_of(e) for _, e in kept))
            return replace(node, input=_read(node.input, below), columns=kept)
        case Filter():
            return node.with_inputs([_read(node.input, above | columns_of(node.predicate))])
        case Join() | LookupJoin():
            tested = frozenset() if node.residual is None else columns_of(node.residual)
            used = above | tested | {c for pair in node.equi for c in pair}
            return node.with_inputs([_read(child, used) for child in node.inputs])
        case _:
            return node.with_inputs([_read(c, frozenset(c.names)) for c in node.inputs])


def _bare(expr: Expr) -> bool:
    return isinstance(expr, Now | Volatile)
