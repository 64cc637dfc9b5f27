"""Which expressions give the same value whenever they are evaluated on the same row."""

from __future__ import annotations

from floodmark.catalog.functions import Determinism
from floodmark.plan.determinism import class_of
from floodmark.plan.expressions import Expr, Now, walk


def is_deterministic(expr: Expr) -> bool:
    """Tell whether the value depends on the row alone."""
    return determinism(expr) is Determinism.DETERMINISTIC


def reads_now(expr: Expr) -> bool:
    """Tell whether the value changes with the epoch's time."""
    return any(isinstance(part, Now) for part in walk(expr))


def determinism(expr: Expr) -> Determinism:
    """Return the weakest class of anything inside the expression."""
    return max(map(class_of, walk(expr)), key=list(Determinism).index)
