"""How large a plan may be: what is larger would be planned for minutes, and its epochs, too.

The numbers are counts, so that a query holds or does not wherever it is planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from floodmark.errors import BindError, Span
from floodmark.limits import LIMITS
from floodmark.plan import nodes as n

_HINT = "give parts of it to materialized views, which are planned and computed once"


@dataclass(frozen=True, slots=True)
class Size:
    """What a plan has of nodes and joins, and how deep it is."""

    nodes: int
    depth: int
    joins: int


def size_of(root: n.Node) -> Size:
    """Return the size of the tree that a plan stands for; shared parts are looked at once."""
    known: dict[int, Size] = {}
    left = [root]
    while left:
        node = left[-1]
        missing = [child for child in node.inputs if id(child) not in known]
        if missing:
            left += missing
            continue
        left.pop()
        below = [known[id(child)] for child in node.inputs]
        known[id(node)] = Size(
            1 + sum(s.nodes for s in below),
            1 + max((s.depth for s in below), default=0),
            isinstance(node, n.Pairing) + sum(s.joins for s in below),
        )
    return known[id(root)]


def check_size(root: n.Node, span: Span | None) -> None:
    """Refuse a plan that is too large: E0133."""
    size = size_of(root)
    counts = (
        (size.nodes, LIMITS.query_nodes, "operators"),
        (size.depth, LIMITS.query_depth, "operators above one another"),
        (size.joins, LIMITS.query_joins, "joins"),
    )
    for count, most, what in counts:
        if count > most:
            text = f"the plan of this query has {count:,} {what}; {most:,} are the most"
            raise BindError("E0133", text, span=span, hint=_HINT)


def check_columns(count: int, span: Span | None) -> None:
    """Refuse a select list of too many columns: E0134."""
    if count > LIMITS.query_columns:
        text = f"the select list has more than {LIMITS.query_columns:,} columns"
        raise BindError("E0134", text, span=span, hint="name the columns that are needed")


@contextmanager
def guard_stack(span: Span | None) -> Iterator[None]:
    """Refuse what is nested too deeply to be planned on this call stack: E0136."""
    try:
        yield
    except RecursionError:
        raise BindError(
            "E0136",
            "the statement is nested too deeply to be planned",
            span=span,
            hint=_HINT,
        ) from None
