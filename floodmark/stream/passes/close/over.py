"""Windows that look ahead by rows, emitting on close: each row waits for the rows that it sees.

Whether they have come is a column of its own: the time of the last of them, NULL while there are
fewer. Once that is below the watermark nothing can come between, and the row is final.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.changelog import HIDDEN_PREFIX
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, Literal, columns_of
from floodmark.plan.nodes.columns import fresh_name
from floodmark.scalar.types import INT
from floodmark.stream.properties.look_ahead import LookAhead, call_look_ahead, look_ahead


def waits_for_rows(node: n.OverWindow) -> bool:
    """Tell whether rows after a row have to come before what the window says of it is final."""
    ahead = look_ahead(node)
    return ahead is not None and ahead.counts


def release_rows(node: n.OverWindow) -> n.Node:
    """Return a window's rows, each as soon as the rows that it looks ahead to have passed.

    Raises E0316 where two windows of one query look ahead by rows.
    """
    window = _outermost(node)
    ahead = look_ahead(window)
    assert ahead is not None
    calls = {name: call_look_ahead(window, call) for name, call in window.calls}
    # What looks ahead for a time has to be final before the rows are counted.
    apart = [name for name, found in calls.items() if found is not None and found.distance]
    below = window.input
    rest = tuple((name, call) for name, call in window.calls if name in apart)
    if rest:
        below = replace(window, calls=rest)
    closes = fresh_name(f"{HIDDEN_PREFIX}closes", set(window.names))
    own = tuple((name, call) for name, call in window.calls if name not in apart)
    note = (closes, _last_seen_call(window, ahead))
    waits = replace(window, input=below, calls=(*own, note), close_call=closes)
    buffer = n.SortBuffer(waits, closes, span=node.span)
    columns = tuple((f.name, ColumnRef(f.type, f.name)) for f in node.schema)
    return n.Project(buffer, columns, span=node.span)


def _last_seen_call(node: n.OverWindow, ahead: LookAhead) -> n.WindowCall:
    """Return the call that gives the time of the last row that a row looks ahead to."""
    key = node.order[0]
    type_ = node.input.field(key.column).type
    time = ColumnRef(type_, key.column)
    if ahead.groups:
        side = "PRECEDING" if key.descending else "FOLLOWING"
        bound = f"{max(ahead.groups, ahead.rows)} {side}"
        return n.WindowCall("min", (time,), type_, ("GROUPS", bound, bound, "NO OTHERS"))
    function = "lag" if key.descending else "lead"
    return n.WindowCall(function, (time, Literal(INT, ahead.rows)), type_)


def windows(node: n.OverWindow) -> list[n.OverWindow]:
    """Return the windows that lie directly on each other, the outermost first."""
    below = node.input
    return [node, *(windows(below) if isinstance(below, n.OverWindow) else ())]


def rebase_windows(node: n.OverWindow, base: n.Node) -> n.OverWindow:
    """Return a stack of windows over another input."""
    below = node.input
    return replace(
        node, input=rebase_windows(below, base) if isinstance(below, n.OverWindow) else base
    )


def _outermost(node: n.OverWindow) -> n.OverWindow:
    """Return a stack of windows with the one that waits for rows on top."""
    waiting = [window for window in windows(node) if waits_for_rows(window)]
    if len(waiting) > 1:
        raise NotSupported(
            "E0316",
            "The query cannot be executed in Emit-On-Window-Close mode: two windows that look "
            "ahead by rows have no common time at which a row is final.",
            span=waiting[0].span,
            hint="give the frames a distance in time: RANGE BETWEEN … FOLLOWING; or use one window",
        )
    (last,) = waiting
    out: n.Node = windows(node)[-1].input
    for window in reversed(windows(node)):
        if window is not last:
            assert not _used_columns(window) & {name for name, _ in last.calls}
            out = replace(window, input=out)
    return replace(last, input=out)


def _used_columns(node: n.OverWindow) -> set[str]:
    args = (c for _, call in node.calls for arg in call.args for c in columns_of(arg))
    return {*args, *node.partition, *(k.column for k in node.order)}
