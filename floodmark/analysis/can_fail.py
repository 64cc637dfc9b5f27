"""Whether an expression can refuse a row: at least every one that does."""

from __future__ import annotations

from floodmark.catalog.functions import lookup
from floodmark.catalog.promotion import common_type
from floodmark.catalog.types import Kind
from floodmark.plan.expressions import Call, Cast, Expr, UserCall, walk


def can_fail(expr: Expr) -> bool:
    """Tell whether some part of an expression may have no value for some row.

    >>> from floodmark.catalog.types import INT, VARCHAR
    >>> from floodmark.plan.expressions import Cast, ColumnRef
    >>> can_fail(Cast(VARCHAR, ColumnRef(INT, "a"))), can_fail(Cast(INT, ColumnRef(VARCHAR, "a")))
    (False, True)
    """
    return any(_refuses(part) for part in walk(expr))


def _refuses(part: Expr) -> bool:
    match part:
        case UserCall():
            return True
        case Cast():
            source = part.operand.type
            text = part.type.kind is Kind.VARCHAR
            return not (text or common_type((source, part.type)) == part.type)
        case Call() if part.function != "coalesce":
            return lookup(part).error is not None
        case _:
            return False
