"""The highest values that columns of rows can have, on their way through a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.comparison import order_key
from floodmark.scalar.time_windows import align, shift_and_clamp
from floodmark.scalar.types import SqlType
from floodmark.stream.properties.monotonicity import monotone_columns
from floodmark.stream.properties.watermark_values import WatermarkValues


def highest_of_inputs(inputs: Sequence[WatermarkValues], names: Sequence[str]) -> WatermarkValues:
    """Return the values of all inputs for columns that are passed on."""
    return {c: value for values in inputs for c, value in values.items() if c in names}


def highest_result(expr: Expr, values: WatermarkValues, now: datetime) -> Any:
    """Return the highest value of an expression that follows bounded columns; None: not known."""
    columns = monotone_columns(expr)
    nothing = dict.fromkeys(columns)
    known = sorted(columns & values.keys())
    found = [evaluate(expr, {**nothing, c: values[c]}, now) for c in known]
    reached = [value for value, error in found if error is None and value is not None]
    return highest(reached, expr.type) if reached else None


def highest_window(
    node: n.Tumble | n.Hop, step: n.Interval, values: WatermarkValues
) -> WatermarkValues:
    """Return the values with the last window that holds the time; one begins at each `step`."""
    if node.time not in values:
        return values
    start = align(values[node.time], step, node.offset)
    return {**values, node.start: start, node.end: shift_and_clamp(start, node.size)}


def highest(values: Iterable[Any], type_: SqlType) -> Any:
    """Return the highest of some values of a type."""
    return max(values, key=partial(order_key, type_=type_))
