"""How far a changed row reaches: between which rows of its partition window functions change.

A call looks back from its row to the start of its frame, and ahead to the end. So a change reaches
as far ahead as calls look back, and as far back as they look ahead. Distances are measured in one
unit for all calls of a window: in rows, in groups of peers, or in the values of ORDER BY.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Literal

FrameClause = tuple[str, str, str, str]
WHOLE = ("ROWS", "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING", "NO OTHERS")
_DEFAULT = ("RANGE", "UNBOUNDED PRECEDING", "CURRENT ROW", "NO OTHERS")
_DAY = 86_400_000_000
_LONGEST_MONTH = 31


@dataclass(frozen=True, slots=True)
class Reach:
    """How far calls look back and ahead, in one unit.

    The unit is ROWS, GROUPS or RANGE; in time a distance is in microseconds, never too short.
    """

    unit: str
    back: Decimal
    ahead: Decimal


def parts_of(node: n.OverWindow, call: n.WindowCall) -> FrameClause:
    """Return the frame that a call has, the default where none is written."""
    if call.frame is None:
        return _DEFAULT if node.order else WHOLE
    unit, start, end, exclude = call.frame
    if unit == "RANGE" and not node.order:
        return (*WHOLE[:3], exclude)
    return unit, start, end, exclude


def has_distance(*bounds: str) -> bool:
    """Tell whether one of a frame's bounds is an amount away."""
    return any(bound[0].isdigit() for bound in bounds)


def reach_of(node: n.OverWindow) -> Reach | None:
    """Return how far the calls of a window look; None where one looks to an end of all rows."""
    reaches = [_call(node, call) for _, call in node.calls]
    known = [reach for reach in reaches if reach is not None]
    unit = _common({reach.unit for reach in known})
    if unit is None or len(known) < len(reaches):
        return None
    return Reach(unit, max(r.back for r in known), max(r.ahead for r in known))


def _common(units: set[str]) -> str | None:
    """Return the unit in which all distances can be told: so many rows are in as many groups."""
    if len(units) == 1:
        return next(iter(units))
    return "GROUPS" if units == {"ROWS", "GROUPS"} else None


def _call(node: n.OverWindow, call: n.WindowCall) -> Reach | None:
    match call.function:
        case "row_number" | "rank" | "dense_rank" | "percent_rank" | "cume_dist" | "ntile":
            return None
        case "lag" | "lead":
            return _neighbour(call)
        case _:
            return _frame(*parts_of(node, call)[:3])


def _neighbour(call: n.WindowCall) -> Reach | None:
    step = 1
    if len(call.args) > 1:
        given = call.args[1]
        assert isinstance(given, Literal), given
        step = given.value or 0
    if call.ignore_nulls and step:
        return None
    back = step if call.function == "lag" else -step
    return Reach("ROWS", Decimal(max(back, 0)), Decimal(max(-back, 0)))


def _frame(unit: str, start: str, end: str) -> Reach | None:
    if start == "UNBOUNDED PRECEDING" or end == "UNBOUNDED FOLLOWING":
        return None
    counted = unit != "RANGE" or has_distance(start, end)
    return Reach(
        unit if counted else "GROUPS",
        bound_distance(start, "PRECEDING"),
        bound_distance(end, "FOLLOWING"),
    )


def bound_distance(bound: str, side: str) -> Decimal:
    """Return how far a bound is on a side; on the other side it is nowhere beyond the row."""
    amount, _, found = bound.rpartition(" ")
    if found != side:
        return Decimal(0)
    if "/" not in amount:
        return Decimal(amount)
    months, days, micros = map(int, amount.split("/"))
    return Decimal((months * _LONGEST_MONTH + days) * _DAY + micros)


def move_at_least(value: Any, by: Decimal) -> Any:
    """Return a value moved outwards by at least a distance, None where that is not known."""
    outwards = math.copysign(math.ceil(abs(by)), by)
    try:
        match value:
            case datetime():
                return value + timedelta(microseconds=int(outwards))
            case date():
                days = math.ceil(abs(outwards) / 86_400_000_000)
                return value + timedelta(days=int(math.copysign(days, by)))
            case int():
                return value + int(outwards)
            case Decimal():
                return value + by
            case _:
                return None
    except OverflowError:
        return None
