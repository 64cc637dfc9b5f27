"""Values of watermarks through a plan, epoch by epoch.

`floodmark.stream.properties.watermark` says which columns carry one. The reference has independent
rules for the values, so that tests find wrong ones here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.comparison import order_key
from floodmark.scalar.types import SqlType
from floodmark.stream.properties.monotonicity import monotone_columns

WatermarkValues = Mapping[str, Any]
"""Watermark value by column; absent: minus infinity."""


def values_among(values: WatermarkValues, columns: tuple[str, ...]) -> WatermarkValues:
    return {column: value for column, value in values.items() if column in columns}


def lowest_result(expr: Expr, values: WatermarkValues, now: datetime) -> Any:
    """Return the lowest value that an expression has when it follows one column that is bounded."""
    columns = monotone_columns(expr)
    if not columns or not columns <= values.keys():
        return None
    nothing = dict.fromkeys(columns)
    found = [evaluate(expr, {**nothing, c: values[c]}, now) for c in sorted(columns)]
    if any(error is not None or value is None for value, error in found):
        return None
    return lowest((value for value, _ in found), expr.type)


def lowest(values: Iterable[Any], type_: SqlType) -> Any:
    return min(values, key=partial(order_key, type_=type_))
