"""Monotone expressions and columns: those that keep the order of one column, and so its watermark.

`StreamOperator.monotone` says, per column of an output, with which column of which object it never
falls. EXPLAIN (FORMAT JSON) shows it. What the engine decides by itself it decides by expressions:
watermarks and bounds follow the columns of an input, not those of objects.
"""

from __future__ import annotations

from collections.abc import Mapping

from floodmark.plan.expr.expressions import Call, Cast, ColumnRef, Expr, Literal
from floodmark.scalar.functions import lookup
from floodmark.scalar.types import Kind

_ORDER_KEEPING = {
    (Kind.DATE, Kind.TIMESTAMP),
    (Kind.TIMESTAMP, Kind.DATE),
    (Kind.TIMESTAMPTZ, Kind.DATE),
    (Kind.SMALLINT, Kind.INT),
    (Kind.SMALLINT, Kind.BIGINT),
    (Kind.INT, Kind.BIGINT),
    (Kind.DATE, Kind.TIMESTAMPTZ),
    (Kind.TIMESTAMP, Kind.TIMESTAMPTZ),
    (Kind.TIMESTAMPTZ, Kind.TIMESTAMP),
}

_WHOLE = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_CHOOSING = ("coalesce", "greatest", "least")
"""Functions whose value is that of one argument that is not NULL, where there is one."""

Origins = Mapping[str, tuple[str, str]]
"""By column: the object and its column with which the value never falls."""


def monotone_column(expr: Expr) -> str | None:
    """Return the one column that the expression is non-decreasing in, or None.

    >>> from floodmark.scalar.types import BIGINT
    >>> monotone_column(ColumnRef(BIGINT, "a"))
    'a'
    """
    columns = monotone_columns(expr)
    return next(iter(columns)) if len(columns) == 1 else None


def monotone_columns(expr: Expr) -> frozenset[str]:
    """Return the columns one of which the value follows: non-decreasing in each, or none.

    It is NULL where all of them are, and only there: those that are NULL are passed over.

    >>> from floodmark.scalar.types import BIGINT
    >>> a, b = ColumnRef(BIGINT, "a"), ColumnRef(BIGINT, "b")
    >>> sorted(monotone_columns(Call(BIGINT, "coalesce", (a, b))))
    ['a', 'b']
    """
    match expr:
        case ColumnRef():
            return frozenset({expr.name})
        case Cast() if (expr.operand.type.kind, expr.type.kind) in _ORDER_KEEPING:
            return monotone_columns(expr.operand)
        case Cast() if expr.operand.type == expr.type:
            return monotone_columns(expr.operand)
        case Call() if expr.function in _CHOOSING:
            parts = [monotone_columns(arg) for arg in expr.args]
            return frozenset().union(*parts) if all(parts) else frozenset()
        case Call():
            return _call(expr)
        case _:
            return frozenset()


def _call(expr: Call) -> frozenset[str]:
    varying = [i for i, arg in enumerate(expr.args) if not isinstance(arg, Literal)]
    if len(varying) != 1 or _spoilt(expr):
        return frozenset()
    if varying[0] != lookup(expr).monotone and not _scales(expr):
        return frozenset()
    return monotone_columns(expr.args[varying[0]])


def _scales(expr: Call) -> bool:
    """Tell whether whole numbers are divided by, or multiplied with, a positive constant."""
    if expr.function not in ("*", "/") or not all(a.type.kind in _WHOLE for a in expr.args):
        return False
    factor = expr.args[1]
    return isinstance(factor, Literal) and factor.value > 0


def _spoilt(expr: Call) -> bool:
    """Tell whether a constant argument is NULL or an interval with months."""
    constants = [a for a in expr.args if isinstance(a, Literal)]
    intervals = [a for a in constants if a.type.kind is Kind.INTERVAL]
    return any(a.value is None for a in constants) or any(a.value[0] != 0 for a in intervals)
