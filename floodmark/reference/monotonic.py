"""Expressions that never fall where a column rises: their lowest values, and back again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Call, Cast, ColumnRef, Expr, Literal
from floodmark.reference.rows import sort_value
from floodmark.reference.watermarks import WatermarkValues
from floodmark.scalar.functions.intervals import datetime_of, micros_of
from floodmark.scalar.time_windows import shift_and_clamp
from floodmark.scalar.types import Kind, SqlType

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_WHOLE = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_RISING = {
    "+": (0, 1), "-": (0,), "*": (0,), "/": (0,), "date_trunc": (1,), "date_bin": (1,),
    "timezone": (0,), "to_timestamp": (0,), "round": (0,), "ceil": (0,), "ceiling": (0,),
    "floor": (0,), "trunc": (0,), "sign": (0,), "cbrt": (0,), "exp": (0,), "degrees": (0,),
    "radians": (0,),
}  # fmt: skip
"""By function, the arguments with which it rises where all others are constant."""


def lowest(expr: Expr, values: WatermarkValues, now: datetime) -> Any:
    """Return the lowest value of an expression over columns that are not below values.

    None where it can fall, has no value, or one of the columns can be anything.
    """
    if isinstance(expr, ColumnRef):
        return values.get(expr.name)
    if isinstance(expr, Call) and expr.function in ("coalesce", "greatest", "least"):
        # Each of them can be the one that is not NULL.
        parts = [lowest(arg, values, now) for arg in expr.args]
        return None if None in parts else min(parts, key=sort_value)
    place = _monotonic_argument(expr)
    if place is None:
        return None
    below = expr.children[place]
    least = lowest(below, values, now)
    if least is None:
        return None
    return evaluate(_substitute(expr, below, Literal(below.type, least)), {}, now)[0]


def preimage(expr: Expr, bound: Any) -> tuple[str, Any] | None:
    """Return the one column of an expression, and its lowest value that gives `bound` or more.

    None for more than casts and constants that are added.
    """
    if isinstance(expr, ColumnRef):
        return expr.name, bound
    place = _monotonic_argument(expr)
    if place is None:
        return None
    below = expr.children[place]
    if isinstance(expr, Call):
        if expr.function not in ("+", "-") or expr.type.kind not in (*_TIMES, *_WHOLE):
            return None
        bound = _less(bound, expr.children[1 - place], 1 if expr.function == "-" else -1)
    return preimage(below, _least_of_type(bound, below.type))


def _monotonic_argument(expr: Expr) -> int | None:
    """Return which part of an expression it rises with; None if there is none."""
    match expr:
        case Cast():
            kinds = (expr.type.kind, expr.operand.type.kind)
            same = expr.type == expr.operand.type
            kept = same or any(all(k in group for k in kinds) for group in (_TIMES, _WHOLE))
            return 0 if kept else None
        case Call():
            varying = [i for i, arg in enumerate(expr.args) if not isinstance(arg, Literal)]
            constants = [arg for arg in expr.args if isinstance(arg, Literal)]
            if len(varying) != 1 or varying[0] not in _RISING.get(expr.function, ()):
                return None
            if any(c.value is None or _has_months(c) for c in constants):
                return None
            if expr.function in ("*", "/"):
                whole = all(arg.type.kind in _WHOLE for arg in expr.args)
                return varying[0] if whole and constants[0].value > 0 else None
            return varying[0]
        case _:
            return None


def _has_months(constant: Literal) -> bool:
    return constant.type.kind is Kind.INTERVAL and constant.value[0] != 0


def _substitute(expr: Expr, part: Expr, value: Literal) -> Expr:
    """Return a cast or call with a value in the place of a part."""
    if isinstance(expr, Cast):
        return replace(expr, operand=value)
    assert isinstance(expr, Call)
    return replace(expr, args=tuple(value if arg is part else arg for arg in expr.args))


def _less(value: Any, constant: Expr, sign: int) -> Any:
    """Return a value less a constant, or more by it where the sign is 1."""
    assert isinstance(constant, Literal)
    if constant.type.kind is Kind.INTERVAL:
        return shift_and_clamp(value, constant.value, sign)
    if isinstance(value, int):
        return value + sign * constant.value
    return shift_and_clamp(value, (0, constant.value, 0), sign)


def _least_of_type(value: Any, type_: SqlType) -> Any:
    """Return the lowest time of a type that is not before another time; numbers are what they are.

    >>> _least_of_type(datetime(2024, 1, 1, 10), SqlType(Kind.DATE))
    datetime.date(2024, 1, 2)
    """
    if type_.kind not in _TIMES:
        return value
    if type_.kind is not Kind.DATE:
        return datetime_of(micros_of(value), zoned=type_.kind is Kind.TIMESTAMPTZ)
    day = datetime_of(micros_of(value)).date()
    return day if micros_of(day) == micros_of(value) else day + timedelta(days=1)
