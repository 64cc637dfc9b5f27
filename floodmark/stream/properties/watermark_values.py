"""What a watermark becomes on its way through a plan: values, epoch by epoch.

Which columns carry one is for `floodmark.stream.properties.watermark` to say. The reference has
rules of its own for the values, so that the tests see where one of these is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.rules.interval_join import at_distance, distances
from floodmark.scalar.functions.comparison import order_key
from floodmark.scalar.time_windows import align, shift_clamped, windows_of
from floodmark.scalar.types import SqlType
from floodmark.stream.properties.look_ahead import look_ahead
from floodmark.stream.properties.monotonicity import monotone_column, monotone_columns
from floodmark.stream.properties.reach import moved
from floodmark.stream.properties.window_bounds import closing

Values = Mapping[str, Any]
"""Watermark value by column; absent: minus infinity."""


def propagate(node: n.Node, scanned: Mapping[str, Values], now: datetime) -> Values:
    """Return the watermarks of a node's output from those of the objects that it scans.

    A column that a join can pad has a value, too: no value of it is below.
    """
    return values_of(node, [propagate(child, scanned, now) for child in node.inputs], scanned, now)


def values_of(
    node: n.Node, inputs: list[Values], scanned: Mapping[str, Values], now: datetime
) -> Values:
    """Return the watermarks of a node's output from those of its inputs."""
    match node:
        case n.Scan():
            known = scanned.get(node.object, {})
            return {w.column: known[w.column] for w in node.watermarks if w.column in known}
        case n.Project() | n.MaterializeProject():
            return _project(node, inputs[0], now)
        case n.Tumble():
            return _tumble(node, inputs[0])
        case n.Hop():
            return _hop(node, inputs[0])
        case n.UnionAll():
            return _union(node, inputs)
        case n.SetOperation():
            return _set(node, *inputs)
        case n.Join():
            return _join(node, *inputs)
        case n.Filter() if reads_now(node.predicate):
            return {}
        case n.Values() | n.GrowingSeries():
            return {}
        case n.LookupJoin() | n.Filter() | n.ProjectSet():
            return inputs[0]
        case n.Aggregate() | n.TopN():
            return values_among(inputs[0], node.group)
        case n.OverWindow():
            return _over(node, inputs[0])
        case n.Session():
            return _session(node, inputs[0])
        case n.TemporalFilter():
            return _coming(node, inputs[0], now)
        case n.CloseAggregate():
            return values_among(inputs[0], closing(node))
        case n.SortBuffer():
            return values_among(inputs[0], (node.column,))
        case _:
            raise AssertionError(f"no watermarks for {type(node).__name__}")


def values_among(values: Values, columns: tuple[str, ...]) -> Values:
    return {column: value for column, value in values.items() if column in columns}


def _project(node: n.Project | n.MaterializeProject, values: Values, now: datetime) -> Values:
    bounds = ((name, followed(expr, values, now)) for name, expr in node.columns)
    return {name: bound for name, bound in bounds if bound is not None}


def followed(expr: Expr, values: Values, now: datetime) -> Any:
    """Return the lowest value that an expression has when it follows one column that is bounded."""
    columns = monotone_columns(expr)
    if not columns or not columns <= values.keys():
        return None
    nothing = dict.fromkeys(columns)
    found = [evaluate(expr, {**nothing, c: values[c]}, now) for c in sorted(columns)]
    if any(error is not None or value is None for value, error in found):
        return None
    return lowest((value for value, _ in found), expr.type)


def _tumble(node: n.Tumble, values: Values) -> Values:
    if node.time not in values:
        return values
    ((start, end),) = windows_of(values[node.time], node.size, node.size, node.offset)
    return {**values, node.start: start, node.end: end}


def _hop(node: n.Hop, values: Values) -> Values:
    """Return the earliest window that a row at the watermark or above can still be in."""
    if node.time not in values:
        return values
    found = windows_of(values[node.time], node.slide, node.size, node.offset)
    # Between two windows that one is over, and the next one is open.
    following = shift_clamped(align(values[node.time], node.slide, node.offset), node.slide)
    start, end = found[0] if found else (following, shift_clamped(following, node.size))
    return {**values, node.start: start, node.end: end}


def _coming(node: n.TemporalFilter, values: Values, now: datetime) -> Values:
    """Return the lower of the watermark and of the first time whose rows are still to come."""
    columns = {monotone_column(lower) for lower in node.lowers}
    (column,) = columns if len(columns) == 1 else (None,)
    # A number that is made a time carries none (`watermark.derive`).
    if column is None or node.uppers or not isinstance(values.get(column), date):
        return {}
    passed = [_last(lower, column, values[column], now) for lower in node.lowers]
    bounds = [value for value in passed if value is not None]
    return {column: min(bounds)} if len(bounds) == len(passed) else {}


def _last(lower: Expr, column: str, own: Any, now: datetime) -> Any:
    """Return the first time below a watermark at which rows are still to come, or the watermark.

    What grows with the column is inverted by halving.
    """

    def has_come(value: Any) -> bool:
        bound, error = evaluate(lower, {column: value}, now)
        return error is None and bound is not None and bool(bound <= now)

    exact = isinstance(own, datetime)
    unit = timedelta(microseconds=1) if exact else timedelta(days=1)
    if has_come(own - unit):
        return own
    least = datetime(10, 1, 1, tzinfo=own.tzinfo) if exact else date(10, 1, 1)
    low, high = 0, (own - least) // unit
    # `low` back from the watermark has not come, `high` back has.
    if not has_come(least):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if has_come(own - middle * unit):
            high = middle
        else:
            low = middle
    return own - low * unit if low else own


def _over(node: n.OverWindow, values: Values) -> Values:
    """Return the times below which no function of the window changes any more."""
    out = {**values_among(values, node.partition)}
    ahead = look_ahead(node)
    if ahead is None or node.order[0].column not in values:
        return out
    time = node.order[0].column
    if node.closes is not None:
        return {**out, node.closes: values[time]}
    if ahead.counts:
        return out
    bound = moved(values[time], -ahead.distance) if ahead.distance else values[time]
    return out if bound is None else {**out, time: bound}


def _session(node: n.Session, values: Values) -> Values:
    out = {**values_among(values, node.partition)}
    return {**out, node.end: values[node.time]} if node.time in values else out


def _union(node: n.UnionAll, inputs: list[Values]) -> Values:
    out: dict[str, Any] = {}
    for position, name in enumerate(node.branches[0].names):
        names = (branch.names[position] for branch in node.branches)
        bounds = [values.get(column) for values, column in zip(inputs, names, strict=True)]
        if None not in bounds:
            out[name] = lowest(bounds, node.field(name).type)
    return out


def _set(node: n.SetOperation, left: Values, right: Values) -> Values:
    met = [(a, b) for a, b in node.pairs if a in left and b in right]
    return {a: lowest((left[a], right[b]), node.field(a).type) for a, b in met}


def _join(node: n.Join, left: Values, right: Values) -> Values:
    """Return the bounds of pairs of rows; of several for one column each holds, so the highest."""
    types = {f.name: f.type for side in node.inputs for f in side.schema}
    out: dict[str, Any] = {}

    def bounded(column: str, *values: Any) -> None:
        rank = partial(order_key, type_=types[column])
        bound = min(values, key=rank)
        out[column] = max((out.get(column, bound), bound), key=rank)

    for a, b in node.equi:
        if a in left and b in right:
            bounded(a, left[a], right[b])
            bounded(b, left[a], right[b])
    both = {**left, **right}
    for far in distances(node):
        if far.column in both and far.other in both:
            least = at_distance(both[far.other], far.by, far.kind)
            bounded(far.column, both[far.column], least)
    return values_among(out, node.names)


def lowest(values: Iterable[Any], type_: SqlType) -> Any:
    return min(values, key=partial(order_key, type_=type_))
