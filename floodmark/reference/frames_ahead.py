"""Up to which time what window functions say of rows is final: they see rows after their own."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Literal

_NOWHERE, _DAY = Decimal(0), 86_400_000_000


def time_ahead(node: n.OverWindow, time: Any) -> Any:
    """Return the time below which rows are final once all rows below a time have come.

    None where a call looks ahead to the end, or by a number of rows.
    """
    longest = _NOWHERE
    for _, call in node.calls:
        distance = _distance(call, node.order[0].descending)
        if distance is None:
            return None
        longest = max(longest, distance)
    return _earlier(time, longest) if longest else time


def _distance(call: n.WindowCall, descending: bool) -> Decimal | None:
    """Return how far after its row a call sees others, in microseconds or in what ORDER BY has.

    Rows that come later in time come before the row where the order is descending.
    """
    match call.function:
        case "row_number" | "rank" | "dense_rank":
            return None if descending else _NOWHERE
        case "percent_rank" | "cume_dist" | "ntile":
            return None
        case "lag" | "lead":
            forward = (call.function == "lead") is not descending
            steps = call.args[1] if len(call.args) > 1 else None
            assert steps is None or isinstance(steps, Literal)
            count = 1 if steps is None else steps.value or 0
            return _NOWHERE if (count if forward else -count) <= 0 else None
    if call.frame is None:
        # From the beginning of the partition to the row and its peers.
        return None if descending else _NOWHERE
    unit, start, end, _ = call.frame
    amount, _, side = (start if descending else end).rpartition(" ")
    if side != ("PRECEDING" if descending else "FOLLOWING"):
        return _NOWHERE
    return _length(amount) if unit == "RANGE" and amount != "UNBOUNDED" else None


def _length(amount: str) -> Decimal:
    """Return a number, or `months/days/micros` in microseconds; no month is longer than 31 days."""
    if "/" not in amount:
        return Decimal(amount)
    months, days, micros = map(int, amount.split("/"))
    return Decimal((31 * months + days) * _DAY + micros)


def _earlier(value: Any, distance: Decimal) -> Any:
    """Return a value less a distance, rounded down; None where that is not exact, or no value."""
    try:
        match value:
            case datetime():
                return value - timedelta(microseconds=int(distance))
            case date():
                return value - math.ceil(distance / _DAY) * timedelta(days=1)
            case int():
                return math.floor(value - distance)
            case Decimal():
                return value - distance
            case _:
                return None
    except OverflowError:
        return None
