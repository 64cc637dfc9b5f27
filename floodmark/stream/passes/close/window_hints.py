"""What to do about a window function that never closes."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.close.names import choice_text, readable, watermark_texts
from floodmark.stream.properties.look_ahead import call_look_ahead
from floodmark.stream.properties.reach import parts_of

_OF_THE_WHOLE = ("percent_rank", "cume_dist", "ntile")
_OF_PLACES = ("row_number", "rank", "dense_rank")


def window_hint(node: n.OverWindow, plan: StreamPlan) -> str:
    """Return the change to make in a window that no watermark passes."""
    times = choice_text(plan, node.input)
    if not node.order:
        return f"ORDER BY, or PARTITION BY, {times}"
    key = node.order[0].column
    within = f"PARTITION BY a window or {' or '.join(watermark_texts(plan, node.input))}"
    if all(w.column != key for w in plan[node.input].watermarks):
        written = readable(node.input, key)
        own = f"the ORDER BY column{f' `{written}`' if written else ''}"
        return f"{own} must be a watermark column: {times}; or {within}"
    endless = [call for _, call in node.calls if call_look_ahead(node, call) is None]
    return _call_hint(node, endless[0], within) if endless else within


def _call_hint(node: n.OverWindow, call: n.WindowCall, within: str) -> str:
    """Return the change to make in a call that looks ahead to the end of time."""
    descending, name = node.order[0].descending, call.function
    if name in _OF_THE_WHOLE:
        return f"{name}() needs all rows of its partition: {within}"
    if name in ("lag", "lead"):
        return (
            f"{name}(…) IGNORE NULLS looks for a value as far as its partition goes: leave IGNORE "
            f"NULLS out, or {within}"
        )
    if name in _OF_PLACES:
        return f"with DESC each later row comes before the others: leave DESC out, or {within}"
    unit, time = parts_of(node, call)[0], node.input.field(node.order[0].column).type
    distance = "5" if unit != "RANGE" or time.is_numeric else "INTERVAL '5 minutes'"
    if descending:
        return (
            "with DESC each later row comes before the others, and into this frame: start it at a "
            f"distance, {unit} BETWEEN {distance} PRECEDING AND CURRENT ROW; or {within}"
        )
    return (
        "a frame up to the end of its partition never closes: end it at CURRENT ROW, or at a "
        f"distance, {distance} FOLLOWING; or {within}"
    )
