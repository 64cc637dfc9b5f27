"""Watermark columns as their query calls them: what the engine adds has no name there."""

from __future__ import annotations

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, columns_of
from floodmark.plan.expr.printing import show_name, to_text
from floodmark.stream.operators.lower import StreamPlan


def watermark_texts(plan: StreamPlan, node: n.Node) -> list[str]:
    """Return the watermark columns of a node that a query can write."""
    found = (readable(node, w.column) for w in plan[node].watermarks)
    return list(dict.fromkeys(text for text in found if text is not None))


def choice_text(plan: StreamPlan, node: n.Node) -> str:
    """Return the watermark columns of a node, of which one is to be taken."""
    names = watermark_texts(plan, node)
    return f"one of {', '.join(names)}" if len(names) > 1 else "".join(names) or "a time"


def group_text(node: n.Node, column: str) -> str:
    """Return a group column as its query writes it: by the expression below."""
    expr = dict(node.columns).get(column) if isinstance(node, n.Project) else None
    if expr is None or isinstance(expr, ColumnRef):
        return readable(node, column) or show_name(column)
    return to_text(expr)


def readable(node: n.Node, column: str) -> str | None:
    """Return a column as a query writes it, a hidden one by what it is computed from."""
    if not is_hidden(column):
        return show_name(column)
    if isinstance(node, n.Project | n.MaterializeProject):
        expr = dict(node.columns)[column]
        if isinstance(expr, ColumnRef):
            return readable(node.input, expr.name)
        return None if any(map(is_hidden, columns_of(expr))) else to_text(expr)
    below = next((child for child in node.inputs if column in child.names), None)
    return None if below is None else readable(below, column)
