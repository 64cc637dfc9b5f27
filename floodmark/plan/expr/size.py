"""How large an expression may be; as that of a plan, its size is a count."""

from __future__ import annotations

from floodmark.errors import BindError, Span
from floodmark.limits import LIMITS
from floodmark.plan.expr.expressions import Expr


def check_growth(expr: Expr, span: Span | None) -> None:
    """Refuse an expression that has become too large: E0147."""
    check_parts(expr.size, span)


def check_parts(parts: int, span: Span | None) -> None:
    """Refuse an expression that has, or will at least have, too many parts: E0147.

    What is long is refused by its length: to bind it first takes seconds.
    """
    if parts > LIMITS.expression_nodes:
        text = f"the expression grows to {parts:,} parts; {LIMITS.expression_nodes:,} are the most"
        hint = "compute what it repeats in a materialized view, as a column"
        raise BindError("E0147", text, span=span, hint=hint)
