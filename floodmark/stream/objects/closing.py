"""By which column of a view its rows are final: that whose watermark has released them."""

from __future__ import annotations

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.scalar.types import Field, Kind
from floodmark.stream.operators.lower import StreamPlan

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)


def closing_column(plan: StreamPlan | None) -> Field | None:
    """Return the column of a date or time that closes what the plan emits on window close.

    All rows with that column below its watermark have been released, and no more will come. So a
    span of time is final when the watermark has reached its end. That holds for the start and for
    the end of windows alike. None where rows do not wait for a watermark, or for one of numbers.
    """
    if plan is None or not _is_released(plan.root):
        return None
    marked = [w.column for w in plan[plan.root].watermarks]
    found = [f for f in plan.root.schema if f.name in marked and f.type.kind in _TIMES]
    # A column that the query does not select closes as well as one that it does.
    return min(found, key=lambda f: (is_hidden(f.name), marked.index(f.name)), default=None)


def _is_released(node: n.Node) -> bool:
    """Tell whether each row was held until a watermark had passed it."""
    match node:
        case n.CloseAggregate() | n.CloseSession() | n.SortBuffer():
            return True
        case n.Project() | n.Filter() | n.MaterializeProject():
            return _is_released(node.input)
        case n.UnionAll():
            return all(_is_released(branch) for branch in node.branches)
        case _:
            return False
