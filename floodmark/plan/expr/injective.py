"""Injective expressions: the column's value can be derived from the result."""

from __future__ import annotations

from floodmark.plan.expr.expressions import Cast, ColumnRef, Expr
from floodmark.scalar.types import Kind, SqlType

_INTEGERS = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_DIGITS = {Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 19}
_WIDENINGS = {
    (Kind.REAL, Kind.DOUBLE),
    (Kind.SMALLINT, Kind.REAL),
    (Kind.SMALLINT, Kind.DOUBLE),
    (Kind.INT, Kind.DOUBLE),
    (Kind.DATE, Kind.TIMESTAMP),
    (Kind.DATE, Kind.TIMESTAMPTZ),
    (Kind.TIMESTAMP, Kind.TIMESTAMPTZ),
    (Kind.TIMESTAMPTZ, Kind.TIMESTAMP),
}


def injective_column(expr: Expr) -> str | None:
    """Return the one column that the expression maps injectively, or None.

    >>> from floodmark.scalar.types import BIGINT, INT, SMALLINT
    >>> injective_column(Cast(BIGINT, ColumnRef(INT, "a")))
    'a'
    >>> injective_column(Cast(SMALLINT, ColumnRef(INT, "a")))
    """
    match expr:
        case ColumnRef():
            return expr.name
        case Cast() if keeps_apart(expr.operand.type, expr.type):
            return injective_column(expr.operand)
        case _:
            return None


def keeps_apart(source: SqlType, target: SqlType) -> bool:
    """Tell whether a cast gives different values for different values.

    >>> from floodmark.scalar.types import BIGINT, DATE, INT, TIMESTAMP, VARCHAR
    >>> keeps_apart(INT, VARCHAR), keeps_apart(TIMESTAMP, DATE)
    (True, False)
    """
    a, b = source.kind, target.kind
    if source == target or b is Kind.VARCHAR or (a, b) in _WIDENINGS:
        return True
    if a in _INTEGERS and b in _INTEGERS:
        return _INTEGERS.index(a) <= _INTEGERS.index(b)
    if b is not Kind.NUMERIC:
        return False
    before = (target.precision or 0) - (target.scale or 0)
    if a in _INTEGERS:
        return before >= _DIGITS[a]
    wider = before >= (source.precision or 0) - (source.scale or 0)
    return a is Kind.NUMERIC and wider and (target.scale or 0) >= (source.scale or 0)
