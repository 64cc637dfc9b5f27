"""Determinism classes of expressions: of one operation alone, and with its operands."""

from __future__ import annotations

from floodmark.plan.expr.expressions import Call, Expr, Now, UserCall, walk
from floodmark.scalar.functions import Determinism, lookup


def class_of(expr: Expr) -> Determinism:
    """Return the class of an expression's own operation, whatever is inside it."""
    if isinstance(expr, Now):
        return Determinism.STABLE
    return lookup(expr).determinism if isinstance(expr, Call) else Determinism.DETERMINISTIC


def determinism(expr: Expr) -> Determinism:
    """Return the weakest class of anything inside the expression."""
    return max(map(class_of, walk(expr)), key=list(Determinism).index)


def is_deterministic(expr: Expr) -> bool:
    """Tell whether the value depends on the row alone."""
    return all(class_of(part) is Determinism.DETERMINISTIC for part in walk(expr))


def is_volatile(expr: Expr) -> bool:
    """Tell whether two evaluations within one epoch may differ."""
    return asks_again(expr) or determinism(expr) is Determinism.VOLATILE


def asks_again(expr: Expr) -> bool:
    """Tell whether a user's function, not declared IMMUTABLE, is called.

    Nothing tells what it gives the second time: not after a crash in the middle of an epoch either.
    A built-in volatile function gives a row the same value in each try of an epoch.
    """
    calls = (part for part in walk(expr) if isinstance(part, UserCall))
    return any(class_of(call) is not Determinism.DETERMINISTIC for call in calls)


def reads_now(expr: Expr) -> bool:
    """Tell whether the value changes with the epoch's time."""
    return any(isinstance(part, Now) for part in walk(expr))
