"""Start and end columns of one window through a plan: one determines the other."""

from __future__ import annotations

from floodmark.plan import nodes as n


def other_bound(node: n.Node, column: str) -> str | None:
    """Return the end of the window whose start a column is, or the other way round.

    So it is for windows of a fixed length: where one bound is passed, the other one is, too.
    """
    match node:
        case n.Tumble() | n.Hop() if column in (node.start, node.end):
            return node.end if column == node.start else node.start
        case n.Project():
            passed = node.plain_columns
            below = next((c for c, name in passed.items() if name == column), None)
            other = None if below is None else other_bound(node.input, below)
            return None if other is None else passed.get(other)
        case n.Aggregate() | n.CloseAggregate() if column in node.group:
            other = other_bound(node.input, column)
            return other if other in node.group else None
        case n.Tumble() | n.Hop() | n.Filter() | n.SortBuffer() | n.ProjectSet():
            return other_bound(node.input, column)
        case _:
            return None


def closing(node: n.CloseAggregate) -> tuple[str, ...]:
    """Return the group columns that say which groups have closed."""
    other = other_bound(node.input, node.window)
    return (node.window, other) if other in node.group else (node.window,)
