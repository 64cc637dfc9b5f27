"""Sums of a time and a constant, which may lie outside of the years where they are compared."""

from __future__ import annotations

from floodmark.catalog.functions.datetime import is_near
from floodmark.catalog.functions.model import Operand
from floodmark.catalog.functions.years import ENDS
from floodmark.plan.expressions import Call, Expr, Literal


def is_near_sum(expr: Expr) -> bool:
    """Tell whether an expression is a date or timestamp that a near constant moves."""
    if not isinstance(expr, Call) or expr.function not in ("+", "-") or expr.type.kind not in ENDS:
        return False
    known = [a for a in expr.args if isinstance(a, Literal) and a.value is not None]
    return any(is_near(Operand("", a.type, a.value)) for a in known)
