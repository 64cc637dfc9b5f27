"""Below what no later change is: what watermarks follow from those of an operator's inputs.

Written for the tests, beside the engine's rules in `floodmark.stream.properties.watermark_values`
and without them. A value of a column says that no change that comes later, of either sign, has one
below it there. NULL is below nothing: that a column is never NULL, so that rows can be released by
it, is for `floodmark.stream.properties.watermark` to say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import conjuncts
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, columns_of
from floodmark.reference.frames_ahead import time_ahead
from floodmark.reference.monotonic import lowest, preimage
from floodmark.reference.rows import sort_value
from floodmark.reference.watermarks import WatermarkValues
from floodmark.scalar.time_windows import align, shift_and_clamp, windows_of


def select(values: WatermarkValues, columns: Iterable[str]) -> WatermarkValues:
    """Return the values of some columns."""
    return {c: values[c] for c in columns if c in values}


def present(values: Iterable[tuple[str, Any]]) -> WatermarkValues:
    """Return the values that are known."""
    return {column: value for column, value in values if value is not None}


def least_of(inputs: Iterable[WatermarkValues], columns: Iterable[str]) -> Any:
    """Return the lowest of one column of each input; None where one of them has no watermark."""
    values = [known.get(c) for known, c in zip(inputs, columns, strict=True)]
    return None if None in values else min(values, key=sort_value)


def window_bounds(node: n.Tumble | n.Hop, time: Any) -> WatermarkValues:
    """Return the earliest window that is open; between two windows it is the next one."""
    if time is None:
        return {}
    slide = node.slide if isinstance(node, n.Hop) else node.size
    for start, end in windows_of(time, slide, node.size, node.offset):
        return {node.start: start, node.end: end}
    start = shift_and_clamp(align(time, slide, node.offset), slide)
    return {node.start: start, node.end: shift_and_clamp(start, node.size)}


def window_columns(node: n.CloseAggregate) -> set[str]:
    """Return the column that closes groups, and the bounds of the same windows."""
    window = _window_node(node.input, node.window)
    same = {c for c in node.group if window and _window_node(node.input, c) == window}
    return {node.window, *same}


def _window_node(node: n.Node, column: str) -> n.Node | None:
    """Return the windows of fixed size that a column is a bound of."""
    match node:
        case n.Tumble() | n.Hop() if column in (node.start, node.end):
            return node
        case n.Project():
            expr = dict(node.columns)[column]
            return _window_node(node.input, expr.name) if isinstance(expr, ColumnRef) else None
        case _ if len(node.inputs) != 1:
            return None
        case _:
            (below,) = node.inputs
            return _window_node(below, column) if column in below.names else None


def final(node: n.OverWindow, values: WatermarkValues) -> WatermarkValues:
    """Return up to which time of ORDER BY all that its calls see of later rows has come."""
    if not node.order or node.order[0].column not in values:
        return {}
    time = node.order[0].column
    if node.close_call is not None:
        return {node.close_call: values[time]}
    return present([(time, time_ahead(node, values[time]))])


def coming(node: n.TemporalFilter, values: WatermarkValues, now: datetime) -> WatermarkValues:
    """Return the first time whose rows have not come yet, if that is below the watermark.

    Where rows go as time passes, or come by more than one column, there is none.
    """
    columns = {c for lower in node.lower_bounds for c in columns_of(lower)}
    if node.upper_bounds or len(columns) != 1:
        return {}
    (column,) = columns
    own = values.get(column)
    if not isinstance(own, date) or any(lowest(e, values, now) is None for e in node.lower_bounds):
        return {}
    unit = timedelta(microseconds=1) if isinstance(own, datetime) else timedelta(days=1)

    def has_come(steps: int) -> bool:
        row = {**dict.fromkeys(node.names), column: own - steps * unit}
        return evaluate(node.condition, row, now)[0] is True

    far = 1
    try:
        while not has_come(far):
            far *= 2
    except OverflowError:
        return {}
    return {column: own - bisect_left(range(1, far + 1), True, key=has_come) * unit}


def pair_values(node: n.Join, known: WatermarkValues, now: datetime) -> WatermarkValues:
    """A pair changes when one of its rows does: the other is where the condition puts it.

    Each condition holds by itself, so of several the highest bound counts.
    """
    bounds: dict[str, list[Any]] = defaultdict(list)
    for a, b in node.equi:
        if a in known and b in known:
            both = min(known[a], known[b], key=sort_value)
            bounds[a].append(both)
            bounds[b].append(both)
    for part in () if node.residual is None else conjuncts(node.residual):
        for column, bound in _unpaired_bounds(node, part, known, now):
            bounds[column].append(min(known[column], bound, key=sort_value))
    found = {column: max(values, key=sort_value) for column, values in bounds.items()}
    return select(found, node.names)


def _unpaired_bounds(
    node: n.Join, part: Expr, known: WatermarkValues, now: datetime
) -> Iterable[tuple[str, Any]]:
    """Yield below what a column of one side is not in any pair, by a column of the other side."""
    if not (isinstance(part, Call) and part.function in ("<", "<=", ">", ">=")):
        return
    below, above = part.args if part.function in ("<", "<=") else reversed(part.args)
    left = set(node.left.names)
    sides = [{c in left for c in columns_of(e)} for e in (below, above)]
    least = lowest(below, known, now)
    if least is None or sides not in ([{True}, {False}], [{False}, {True}]):
        return
    found = preimage(above, least)
    if found is not None and found[0] in known:
        yield found
