"""EMIT ON WINDOW CLOSE: turns aggregates into ones that emit each group once, or says why not.

What is not released on close already is held in a sort buffer on top, by the first column of the
result that has a watermark.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import all_of
from floodmark.sql import statements as s
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.close.conditions import lift_ends
from floodmark.stream.passes.close.hints import group_hint, hint_of
from floodmark.stream.passes.close.names import group_text
from floodmark.stream.passes.close.over import rebase_windows, release_rows, waits_for_rows, windows
from floodmark.stream.passes.close.subqueries import refuse_endless
from floodmark.stream.passes.keep_keys import keep_keys
from floodmark.stream.passes.rebuild import lower_again

CANNOT = "The query cannot be executed in Emit-On-Window-Close mode."


def emit_on_close(plan: StreamPlan, statement: s.Statement) -> StreamPlan:
    """Return the plan with its aggregates emitting on close.

    It needs watermarks, so it lowers again: what closes, and each rewrite above that.
    Raises E0310 to E0313 where the query has no column whose watermark could close anything.
    """
    span = getattr(statement, "emit_span", None) or statement.span
    if any(isinstance(node, n.TemporalFilter) and node.upper_bounds for node in plan.nodes):
        lifted, ends = lift_ends(plan.root, _window_alone)
        plan = lower_again(plan, lifted)
    else:
        ends = ()
    root = _rewrite(plan.root, plan)
    closing = lower_again(plan, root)
    columns = closing.top.watermarks
    if ends or not _emits(root, together=bool(columns)):
        if not columns:
            raise NotSupported("E0310", CANNOT, span=span, hint=hint_of(closing))
        sorted_rows = n.SortBuffer(closing.root, columns[0].column, all_of(ends), span=span)
        closing = lower_again(closing, sorted_rows)
    _check_releases(closing)
    return closing


def _check_releases(plan: StreamPlan) -> None:
    """Check that what holds rows has a watermark to release them by."""
    for operator in plan.operators.values():
        if operator.released_by is not None:
            by, column = operator.released_by
            assert column in by.watermark_names, (operator.identifier, column)


def _rewrite(node: n.Node, plan: StreamPlan) -> n.Node:
    """Return the node over inputs that emit on close: these say what can close it.

    One of which nothing is known stays: what `_emits` does not know either is held on top.
    """
    match node:
        case n.Aggregate():
            below, window = _closing_window(node, plan)
            return n.CloseAggregate(below, node.group, node.aggregates, window, span=node.span)
        case n.SetOperation():
            return node
        case n.Join():
            left = _rewrite(node.left, plan)
            refuse_endless(node, plan)
            return node.with_inputs([left, _rewrite(node.right, plan)])
        case n.Session():
            closed = _close_aggregates(node.input, plan)
            if node.time not in closed.top.watermark_names:
                return node.with_inputs([closed.root])
            return n.CloseSession(
                closed.root, node.time, node.gap, node.partition, node.keeps_untimed,
                start=node.start, end=node.end, span=node.span,
            )  # fmt: skip
        case n.OverWindow():
            base = windows(node)[-1].input
            over = _lower_node(rebase_windows(node, _close_aggregates(base, plan).root), plan)
            assert isinstance(over.root, n.OverWindow)
            waits = any(_waits(window, over) for window in windows(over.root))
            return release_rows(over.root) if waits else over.root
        case _:
            return node.with_inputs([_rewrite(child, plan) for child in node.inputs])


def _close_aggregates(node: n.Node, plan: StreamPlan) -> StreamPlan:
    """Return a node of the plan with its aggregates emitting on close, lowered."""
    return _lower_node(_rewrite(node, plan), plan)


def _lower_node(node: n.Node, plan: StreamPlan) -> StreamPlan:
    """Return the plan of a node; its operators are those of the plan where it has the node."""
    return replace(plan, root=node) if node in plan.operators else lower(keep_keys(node))


def _closing_window(node: n.Aggregate, plan: StreamPlan) -> tuple[n.Node, str]:
    """Return the input of an aggregate, emitting on close, and the column that closes groups."""
    below = _close_aggregates(node.input, plan)
    return below.root, window_of(replace(node, input=below.root), below)


def _waits(node: n.OverWindow, plan: StreamPlan) -> bool:
    """Tell whether rows are final one by one: by time, and no partition is closed as a whole."""
    carried = {w.column for w in plan[node.input].watermarks}
    timed = bool(node.order) and node.order[0].column in carried
    return timed and not carried & set(node.partition) and waits_for_rows(node)


def _window_alone(node: n.Aggregate) -> str:
    """Return the column that closes the groups of an aggregate that is not analysed yet."""
    keyed = keep_keys(node)
    assert isinstance(keyed, n.Aggregate)
    return _closing_window(keyed, lower(keyed))[1]


def window_of(node: n.Aggregate, plan: StreamPlan) -> str:
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
            hint=group_hint(node, plan),
        )
    if len({carried[c] for c in columns}) > 1:
        raise NotSupported(
            "E0314",
            "Emit-On-Window-Close mode requires that watermark columns in GROUP BY are derived "
            "from the same upstream column.",
            span=node.span,
            hint="group by one of " + ", ".join(group_text(node.input, c) for c in columns),
        )
    return columns[0]


def _emits(node: n.Node, *, together: bool) -> bool:
    """Tell whether the result is released on close already.

    Each branch of a union closes by itself; a column that tells when all have closed holds its rows
    `together` until then.
    """
    match node:
        case n.CloseAggregate() | n.CloseSession() | n.SortBuffer():
            return True
        case n.Project() | n.Filter():
            return _emits(node.input, together=together)
        case n.UnionAll() if not together:
            return all(_emits(branch, together=together) for branch in node.branches)
        case _:
            return False
