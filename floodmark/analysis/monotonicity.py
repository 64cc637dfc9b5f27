"""Monotone expressions: those that keep the order of one column, and so its watermark."""

from __future__ import annotations

from floodmark.catalog.functions import lookup
from floodmark.catalog.types import Kind
from floodmark.plan.expressions import Call, Cast, ColumnRef, Expr, Literal

_ORDER_KEEPING = {
    (Kind.DATE, Kind.TIMESTAMP),
    (Kind.TIMESTAMP, Kind.DATE),
    (Kind.SMALLINT, Kind.INT),
    (Kind.SMALLINT, Kind.BIGINT),
    (Kind.INT, Kind.BIGINT),
    (Kind.DATE, Kind.TIMESTAMPTZ),
    (Kind.TIMESTAMP, Kind.TIMESTAMPTZ),
    (Kind.TIMESTAMPTZ, Kind.TIMESTAMP),
}


def monotone_column(expr: Expr) -> str | None:
    """Return the one column that the expression is non-decreasing in, or None.

    >>> from floodmark.catalog.types import BIGINT
    >>> monotone_column(ColumnRef(BIGINT, "a"))
    'a'
    """
    match expr:
        case ColumnRef():
            return expr.name
        case Cast() if (expr.operand.type.kind, expr.type.kind) in _ORDER_KEEPING:
            return monotone_column(expr.operand)
        case Cast() if expr.operand.type == expr.type:
            return monotone_column(expr.operand)
        case Call():
            return _call(expr)
        case _:
            return None


def _call(expr: Call) -> str | None:
    varying = [i for i, arg in enumerate(expr.args) if not isinstance(arg, Literal)]
    if len(varying) != 1 or varying[0] != lookup(expr).monotone or _spoilt(expr):
        return None
    return monotone_column(expr.args[varying[0]])


def _spoilt(expr: Call) -> bool:
    """Tell whether a constant argument is NULL or an interval with months."""
    constants = [a for a in expr.args if isinstance(a, Literal)]
    intervals = [a for a in constants if a.type.kind is Kind.INTERVAL]
    return any(a.value is None for a in constants) or any(a.value[0] != 0 for a in intervals)
