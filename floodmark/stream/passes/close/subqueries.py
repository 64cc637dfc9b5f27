"""Subqueries of expressions, in a query that emits on close: those whose answer is never final.

A scalar subquery or EXISTS is an aggregate beside the rows. It has one group for all of its rows,
or groups by the columns that it is compared by. Only a group by a time ever closes.
"""

from __future__ import annotations

from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.bind.collectors import SUBQUERY_COLUMN
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.close.hints import ELSEWHERE
from floodmark.stream.passes.close.names import readable

_PER_WINDOW = (
    "or with the value of each window: JOIN (SELECT window_start, … GROUP BY window_start) w ON "
    "x.window_start = w.window_start"
)


def refuse_endless(node: n.Join, plan: StreamPlan) -> None:
    """Raise E0318 for the join with a subquery whose answer each later row may change."""
    aggregate = _answer(node.right)
    if aggregate is None:
        return
    carried = {w.column for w in plan[aggregate.input].watermarks}
    if carried & set(aggregate.group):
        return
    if aggregate.group:
        said = (
            "a subquery is compared by no column with a watermark, so each later row may change it"
        )
        hint = _time_hint(node, aggregate, plan)
    else:
        said = "what a subquery says over all of its rows may change with each later one"
        hint = f"{ELSEWHERE}; {_PER_WINDOW}"
    raise NotSupported(
        "E0318",
        f"The query cannot be executed in Emit-On-Window-Close mode: {said}.",
        span=aggregate.span or node.right.span or node.span,
        hint=hint,
    )


def _answer(node: n.Node) -> n.Aggregate | None:
    """Return the aggregate that answers a subquery."""
    if not any(name.startswith(SUBQUERY_COLUMN) for name in node.names):
        return None
    while isinstance(node, n.Project | n.Filter):
        node = node.input
    return node if isinstance(node, n.Aggregate) else None


def _time_hint(node: n.Join, aggregate: n.Aggregate, plan: StreamPlan) -> str:
    """Return the hint to compare times, too, where both sides have some of one type."""
    inner = aggregate.input
    while isinstance(inner, n.Project | n.Filter) and not plan[inner].watermarks:
        inner = inner.input
    for mine in plan[node.left].watermarks:
        for theirs in plan[inner].watermarks:
            names = readable(inner, theirs.column), readable(node.left, mine.column)
            types = inner.field(theirs.column).type, node.left.field(mine.column).type
            if None not in names and types[0] == types[1]:
                return f"compare times in it, too: AND {names[0]} = {names[1]}; or {ELSEWHERE}"
    return f"{ELSEWHERE}, or look it up: JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON …"
