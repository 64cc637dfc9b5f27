"""How often an expression may change its mind, taken by itself."""

from __future__ import annotations

from floodmark.catalog.functions import Determinism, lookup
from floodmark.plan.expressions import Call, Expr, Now


def class_of(expr: Expr) -> Determinism:
    """Return the class of an expression's own operation, whatever is inside it."""
    if isinstance(expr, Now):
        return Determinism.STABLE
    return lookup(expr).determinism if isinstance(expr, Call) else Determinism.DETERMINISTIC
