"""Functions of `now()` that never fall, the other way round: when they reach a value.

For `f` and a value `e`: the first `now()` at which `f(now()) >= e`, or `f(now()) > e`, as an
expression over the row. Times count microseconds; the session's zone is UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.plan.bind.calls import bind_call
from floodmark.plan.expr.expressions import Call, Case, Cast, Expr, Literal, Now, walk
from floodmark.plan.expr.window_values import Interval
from floodmark.scalar.functions.datetime import TRUNCATIONS, unit_of
from floodmark.scalar.functions.model import Operand
from floodmark.scalar.types import (
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
)

_DAY = 86_400_000_000
_TIMES = (Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_UNITS: dict[str, Interval] = {
    "microseconds": (0, 0, 1),
    "milliseconds": (0, 0, 1_000),
    "second": (0, 0, 1_000_000),
    "minute": (0, 0, 60_000_000),
    "hour": (0, 0, 3_600_000_000),
    "day": (0, 1, 0),
    "week": (0, 7, 0),
    "month": (1, 0, 0),
    "quarter": (3, 0, 0),
    "year": (12, 0, 0),
}


@dataclass(frozen=True, slots=True)
class Target:
    """What the argument of a function must reach, or with `after` pass."""

    value: Expr
    after: bool


def first_time(f: Expr, e: Expr, *, after: bool) -> Expr | None:
    """Return the first `now()` at which `f >= e`, with `after` `f > e`, as a TIMESTAMPTZ.

    `f` is a function of `now()` alone and has the type of `e`. None where no inverse is known.

    >>> from floodmark.plan.expr.expressions import ColumnRef
    >>> ts = ColumnRef(TIMESTAMPTZ, "ts")
    >>> first_time(Now(TIMESTAMPTZ), ts, after=False) == ts
    True
    """
    want = Target(e, after)
    while not (isinstance(f, Now) and f.type.kind is Kind.TIMESTAMPTZ):
        step = _step(f, want)
        if step is None:
            return None
        f, want = step
    return _plus(want.value, (0, 0, 1)) if want.after else want.value


def _step(f: Expr, want: Target) -> tuple[Expr, Target] | None:
    """Return the argument of the outermost function, and what that must reach."""
    match f:
        case Now() if f.type.kind in (Kind.TIMESTAMP, Kind.DATE):
            return Cast(f.type, Now(TIMESTAMPTZ)), want
        case Cast(operand=inner):
            return _cast(f, inner, want)
        case Call(function="timezone", args=(inner, Literal())):
            return inner, Target(Cast(inner.type, want.value), want.after)
        case Call(function="date_trunc", args=(Literal(value=unit), inner)):
            return inner, _invert_trunc(_unit(unit), want)
        case Call(function="+", args=(inner, Literal(value=tuple() as moved))):
            return _invert_shift(inner, moved, want)
        case Call(function="+", args=(Literal(value=tuple() as moved), inner)):
            return _invert_shift(inner, moved, want)
        case Call(function="-", args=(inner, Literal(value=tuple() as moved))):
            return _invert_shift(inner, _negative(moved), want)
        case Call(function="+" | "-" as sign, args=(inner, Literal(value=int() as days))):
            if inner.type.kind is not Kind.DATE:
                return None
            back = _days(want.value, -days if sign == "+" else days)
            return inner, Target(back, want.after)
        case _:
            return None


def _cast(f: Cast, inner: Expr, want: Target) -> tuple[Expr, Target] | None:
    match inner.type.kind, f.type.kind:
        case (a, b) if a in _TIMES and b in _TIMES:
            return inner, Target(Cast(inner.type, want.value), want.after)
        case (a, Kind.DATE) if a in _TIMES:
            day = _days(want.value, 1) if want.after else want.value
            return inner, Target(Cast(inner.type, day), after=False)
        case (Kind.DATE, b) if b in _TIMES:
            before = want.value if want.after else _plus(want.value, (0, 0, -1))
            return inner, Target(_days(Cast(DATE, before), 1), after=False)
        case (a, b) if a is b:
            return inner, want
        case _:
            return None


def _invert_trunc(unit: str, want: Target) -> Target:
    """A truncated time reaches a value at the first boundary that is not below it."""
    before = want.value if want.after else _plus(want.value, (0, 0, -1))
    return Target(_plus(_trunc(unit, before), _UNITS[unit]), after=False)


def _invert_shift(inner: Expr, moved: Interval, want: Target) -> tuple[Expr, Target] | None:
    if inner.type.kind is Kind.DATE:
        return _invert_shift(Cast(TIMESTAMP, inner), moved, want)
    months, days, micros = moved
    value = _plus(want.value, (0, -days, -micros))
    if not months:
        return inner, Target(value, want.after)
    if not has_whole_days(inner):
        return None
    # Months are added to days: the first day that reaches a day, or else the next one.
    before = value if want.after else _plus(value, (0, 0, -1))
    day = _plus(_trunc("day", before), (0, 1, 0))
    back = _plus(day, (-months, 0, 0))
    short = Call(BOOLEAN, "<", (_plus(back, (months, 0, 0)), day))
    first = Case(back.type, ((short, _plus(back, (0, 1, 0))),), back)
    return inner, Target(first, after=False)


def has_whole_days(expr: Expr) -> bool:
    """Tell whether a function of `now()` is always at the start of a day."""
    if expr.type.kind is Kind.DATE:
        return True
    match expr:
        case Cast(operand=inner) | Call(function="timezone", args=(inner, Literal())):
            return has_whole_days(inner)
        case Call(function="date_trunc", args=(Literal(value=unit), _)):
            return _UNITS[_unit(unit)][2] == 0
        case Call(function="+" | "-", args=(inner, Literal(value=tuple() as moved))):
            return moved[2] % _DAY == 0 and has_whole_days(inner)
        case Call(function="+", args=(Literal(value=tuple() as moved), inner)):
            return moved[2] % _DAY == 0 and has_whole_days(inner)
        case _:
            return False


def moves_months(expr: Expr) -> bool:
    """Tell whether a function of `now()` adds or subtracts months."""
    literals = (part for part in walk(expr) if isinstance(part, Literal))
    return any(p.type.kind is Kind.INTERVAL and p.value and p.value[0] for p in literals)


def _unit(text: object) -> str:
    return unit_of(Operand("", VARCHAR, text), TRUNCATIONS)


def _negative(moved: Interval) -> Interval:
    months, days, micros = moved
    return -months, -days, -micros


def _plus(value: Expr, moved: Interval) -> Expr:
    if not any(moved):
        return value
    return bind_call("+", [value, Literal(INTERVAL, moved)], None)


def _days(value: Expr, days: int) -> Expr:
    return bind_call("+", [value, Literal(INT, days)], None)


def _trunc(unit: str, value: Expr) -> Expr:
    return bind_call("date_trunc", [Literal(VARCHAR, unit), value], None)
