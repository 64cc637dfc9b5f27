"""Sums of a time and a constant, which may lie outside of the years where they are compared."""

from __future__ import annotations

from floodmark.plan.expr.expressions import Call, Expr, Literal
from floodmark.scalar.functions.datetime import is_near
from floodmark.scalar.functions.model import Operand
from floodmark.scalar.functions.years import ENDS


def is_near_sum(expr: Expr) -> bool:
    """Tell whether an expression is a date or timestamp that a near constant moves."""
    if not isinstance(expr, Call) or expr.function not in ("+", "-") or expr.type.kind not in ENDS:
        return False
    known = [a for a in expr.args if isinstance(a, Literal) and a.value is not None]
    return any(is_near(Operand("", a.type, a.value)) for a in known)
