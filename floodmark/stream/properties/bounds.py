"""Bounds: where the values of columns lie in the rows of one epoch's changes, or of one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar

from floodmark.plan import nodes as n
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.time_windows import align, shift_and_clamp, windows_of
from floodmark.stream.properties.monotonicity import monotone_columns

T = TypeVar("T")
ByColumn = Mapping[str, T]
"""What is known of the values of columns, by name."""
Bounds = ByColumn[tuple[Any, Any]]
"""Lowest and highest value by column, both included. Only columns that are never NULL are there."""


EVERYWHERE: Bounds = MappingProxyType({})
"""No bounds are known."""


_NOW = datetime(1970, 1, 1, tzinfo=UTC)
"""Monotone expressions do not read the clock."""


def hull(parts: Sequence[Bounds]) -> Bounds:
    """Return the bounds of all the parts' rows together.

    >>> hull([{"a": (1, 2), "b": (0, 0)}, {"a": (5, 7)}])
    {'a': (1, 7)}
    """
    if not parts:
        return {}
    found = ((name, enclosing([part.get(name) for part in parts])) for name in parts[0])
    return {name: bounds for name, bounds in found if bounds is not None}


def bounds_of_expression(expr: Expr, bounds: Bounds) -> tuple[Any, Any] | None:
    """Return the bounds of an expression: of a constant, or over columns that have them."""
    if isinstance(expr, Literal):
        ordered = expr.value is not None and expr.value == expr.value
        return (expr.value, expr.value) if ordered else None
    columns = monotone_columns(expr)
    if not columns or not columns <= bounds.keys():
        return None
    ends = [evaluate(expr, {c: bounds[c][i] for c in columns}, _NOW) for i in (0, 1)]
    if any(error is not None or value is None for value, error in ends):
        return None
    return ends[0][0], ends[1][0]


def enclosing(parts: Sequence[tuple[Any, Any] | None]) -> tuple[Any, Any] | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def restrict_bounds(ranges: ByColumn[T], names: Sequence[str]) -> ByColumn[T]:
    return {name: bounds for name, bounds in ranges.items() if name in names}


def projection_bounds(columns: Sequence[tuple[str, Expr]], ranges: Bounds) -> Bounds:
    """Return the bounds of computed columns over rows within bounds."""
    computed = ((name, bounds_of_expression(expr, ranges)) for name, expr in columns)
    return {name: bounds for name, bounds in computed if bounds is not None}


def tumble_bounds(node: n.Tumble, bounds: Bounds) -> Bounds:
    """Return the bounds with those of the windows of rows within them."""
    if node.time not in bounds:
        return bounds
    each = (windows_of(end, node.size, node.size, node.offset) for end in bounds[node.time])
    low, high = (window for (window,) in each)
    return {**bounds, node.start: (low[0], high[0]), node.end: (low[1], high[1])}


def hop_bounds(node: n.Hop, bounds: Bounds) -> Bounds:
    """Return the bounds with those of the windows of rows within them.

    The first window of the lowest time starts less than its size before it.
    """
    if node.time not in bounds:
        return bounds
    low, high = bounds[node.time]
    last = align(high, node.slide, node.offset)
    starts = shift_and_clamp(low, node.size, -1), last
    return {**bounds, node.start: starts, node.end: (low, shift_and_clamp(last, node.size))}
