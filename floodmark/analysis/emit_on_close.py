"""EMIT ON WINDOW CLOSE: turns aggregates into ones that emit each group once, or says why not.

What is not released on close already is held in a sort buffer on top, by the first column of the
result that has a watermark.
"""

from __future__ import annotations

from floodmark.analysis.analyse import AnalysedPlan, analyse
from floodmark.analysis.keep_keys import keep_keys
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.sql import statements as s

CANNOT = "The query cannot be executed in Emit-On-Window-Close mode."


def emit_on_close(plan: AnalysedPlan, statement: s.Statement) -> n.Node:
    """Return the plan with its aggregates emitting on close.

    Raises E0310 to E0313 where the query has no column whose watermark could close anything.
    """
    span = getattr(statement, "emit_span", None) or statement.span
    root = _rewrite(plan.root, plan)
    if _emits(root):
        return root
    closing = analyse(keep_keys(root))
    columns = closing[root].watermarks if root in closing.properties else ()
    if not columns:
        raise NotSupported(
            "E0310",
            CANNOT,
            span=span,
            hint=_timed_hint(plan)
            or "define a watermark column in the source, and keep it in the result",
        )
    return n.SortBuffer(root, columns[0].column, span=span)


def _rewrite(node: n.Node, plan: AnalysedPlan) -> n.Node:
    match node:
        case n.Aggregate():
            window = window_of(node, plan)
            below = _rewrite(node.input, plan)
            return n.CloseAggregate(below, node.group, node.aggregates, window, span=node.span)
        case n.SetOperation():
            return node
        case _:
            return node.with_inputs([_rewrite(child, plan) for child in node.inputs])


def window_of(node: n.Aggregate, plan: AnalysedPlan) -> str:
    """Return the group column whose watermark closes the groups."""
    if not node.group:
        raise NotSupported(
            "E0313",
            "`EMIT ON WINDOW CLOSE` cannot be used for aggregation without `GROUP BY`",
            span=node.span,
            hint="GROUP BY a window or a watermark column",
        )
    carried = {w.column: w.group for w in plan[node.input].watermarks}
    columns = [c for c in node.group if c in carried]
    if not columns:
        raise NotSupported(
            "E0312",
            "Emit-On-Window-Close mode requires a watermark column in GROUP BY.",
            span=node.span,
            hint=_timed_hint(plan) or _group_hint(sorted(carried)),
        )
    if len({carried[c] for c in columns}) > 1:
        raise NotSupported(
            "E0314",
            "Emit-On-Window-Close mode requires that watermark columns in GROUP BY are derived "
            "from the same upstream column.",
            span=node.span,
            hint="group by one of " + ", ".join(columns),
        )
    return columns[0]


def _timed_hint(plan: AnalysedPlan) -> str | None:
    """Return what to do where a temporal filter lets no watermark pass."""
    if not any(isinstance(node, n.TemporalFilter | n.GrowingSeries) for node in plan.nodes):
        return None
    return "a condition on now() passes no watermark on: ask it in a view that reads this one"


def _group_hint(columns: list[str]) -> str:
    if not columns:
        return "define a watermark in the source: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
    return "GROUP BY " + " or ".join(columns)


def _emits(node: n.Node) -> bool:
    """Tell whether the result is released on close already."""
    match node:
        case n.CloseAggregate():
            return True
        case n.Project() | n.Filter():
            return _emits(node.input)
        case n.UnionAll():
            return all(_emits(b) for b in node.branches)
        case _:
            return False
