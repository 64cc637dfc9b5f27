"""Which expressions give the same value whenever they are evaluated on the same row."""

from __future__ import annotations

from floodmark.catalog.functions import Determinism, lookup
from floodmark.plan.expressions import Call, Expr, Now, walk


def is_deterministic(expr: Expr) -> bool:
    """Tell whether the value depends on the row alone."""
    return determinism(expr) is Determinism.DETERMINISTIC


def reads_now(expr: Expr) -> bool:
    """Tell whether the value changes with the epoch's time."""
    return any(isinstance(part, Now) for part in walk(expr))


def determinism(expr: Expr) -> Determinism:
    """Return the weakest class of anything inside the expression."""
    classes = [Determinism.DETERMINISTIC]
    for part in walk(expr):
        if isinstance(part, Now):
            classes.append(Determinism.STABLE)
        elif isinstance(part, Call):
            classes.append(lookup(part).determinism)
    return max(classes, key=list(Determinism).index)
