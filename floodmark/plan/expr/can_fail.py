"""Whether an expression can fail for a row; in doubt, it can."""

from __future__ import annotations

from floodmark.plan.expr.expressions import AttemptExpr, Call, Cast, Expr, OutcomeExpr, UserCall
from floodmark.scalar.functions import lookup
from floodmark.scalar.promotion import bounds, common_type
from floodmark.scalar.types import Kind, SqlType


def can_fail(expr: Expr) -> bool:
    """Tell whether some part of an expression may have no value for some row.

    >>> from floodmark.scalar.types import INT, VARCHAR
    >>> from floodmark.plan.expr.expressions import Cast, ColumnRef
    >>> can_fail(Cast(VARCHAR, ColumnRef(INT, "a"))), can_fail(Cast(INT, ColumnRef(VARCHAR, "a")))
    (False, True)
    """
    if isinstance(expr, AttemptExpr):
        return False
    return _refuses(expr) or any(map(can_fail, expr.children))


def _refuses(part: Expr) -> bool:
    match part:
        case UserCall() | OutcomeExpr():
            return True
        case Cast():
            return not _holds_all(part.type, part.operand.type)
        case Call() if part.function != "coalesce":
            return lookup(part).error is not None
        case _:
            return False


def _holds_all(target: SqlType, source: SqlType) -> bool:
    """Tell whether a type has a value for each of another's.

    That it is their common type does not say so: decimals end at 38 digits.
    """
    if target.kind is Kind.VARCHAR:
        return True
    if common_type((source, target)) != target:
        return False
    if target.element is not None and source.element is not None:
        return _holds_all(target.element, source.element)
    if target.kind is Kind.NUMERIC and source.is_numeric:
        (most, scale), (needed, below) = bounds(target), bounds(source)
        return most - scale >= needed - below
    fields = zip(target.fields, source.fields, strict=False)
    return all(_holds_all(a.type, b.type) for a, b in fields)
