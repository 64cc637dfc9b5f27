"""Digits behind the second in a cast: `t::timestamp(0)` rounds, as in PostgreSQL."""

from __future__ import annotations

from sqlglot import exp

from floodmark.digits import whole
from floodmark.errors import BindError, Span
from floodmark.plan.bind.calls import bind_call
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.types import INTERVAL, VARCHAR

_D = exp.DataType.Type
_TIMES = (_D.TIMESTAMP, _D.TIMESTAMPTZ, _D.TIME)
_UNITS = {0: ("second", 1_000_000), 3: ("milliseconds", 1_000)}
_MOST = 6


def round_digits(value: Expr, type_: exp.DataType, span: Span | None) -> Expr:
    """Return a value that was cast to a type, rounded to the digits that the type says.

    Raises E0144 for digits to which nothing rounds, and for lengths inside of arrays, maps and
    structs: a cast does not look at their elements.
    """
    inner = [t for t in type_.find_all(exp.DataType) if t is not type_]
    if any(t.expressions for t in inner if t.this in (*_TIMES, _D.VARCHAR, _D.CHAR)):
        raise _refusal("a cast does not cut or round what is inside of a value", span)
    if type_.this not in _TIMES or not type_.expressions:
        return value
    digits = whole(type_.expressions[0].name)
    if digits == _MOST:
        return value
    if digits not in _UNITS or type_.this is _D.TIME:
        name = type_.sql("postgres").lower()
        raise _refusal(f"a cast to {name} does not round", span)
    unit, micros = _UNITS[digits]
    half = Literal(INTERVAL, (0, 0, micros // 2))
    return bind_call(
        "date_trunc", [Literal(VARCHAR, unit), bind_call("+", [value, half], span)], span
    )


def _refusal(what: str, span: Span | None) -> BindError:
    return BindError(
        "E0144",
        what,
        span=span,
        hint="only timestamp(0) and timestamp(3) round; otherwise leave the number out and use "
        "date_trunc",
    )
