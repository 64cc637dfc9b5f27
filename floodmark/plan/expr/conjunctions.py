"""Conditions as lists of parts that must all hold."""

from __future__ import annotations

from collections.abc import Sequence

from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.plan.expr.expressions import BoolOp, Call, ColumnRef, Expr
from floodmark.scalar.types import BOOLEAN


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Return the parts of a conjunction."""
    if isinstance(expr, BoolOp) and expr.op == "and":
        return tuple(c for arg in expr.args for c in conjuncts(arg))
    return (expr,)


def all_of(parts: Sequence[Expr]) -> Expr | None:
    """Return the condition that all parts hold; None when there are none."""
    return conjunction(parts) if parts else None


def conjunction(parts: Sequence[Expr]) -> Expr:
    """Return the condition that all parts hold, of which there is at least one."""
    return parts[0] if len(parts) == 1 else BoolOp(BOOLEAN, "and", tuple(parts))


def factor(expr: Expr) -> tuple[Expr, ...]:
    """Return the parts of a condition, with those that each branch of an OR has before it.

    `(a AND b) OR (a AND c)` is `a`, and `b OR c`, whatever is NULL; `a` must not fail.
    """
    return tuple(p for part in conjuncts(expr) for p in _common(part))


def _common(expr: Expr) -> tuple[Expr, ...]:
    if not (isinstance(expr, BoolOp) and expr.op == "or"):
        return (expr,)
    branches = [conjuncts(arg) for arg in expr.args]
    common = [p for p in branches[0] if all(p in other for other in branches)]
    # NULL beside an error is one thing within a branch and another before all of them.
    fails = can_fail(expr)
    shared = [p for p in common if (is_equality(p) if fails else is_movable(p))]
    if not shared:
        return (expr,)
    left = [all_of([p for p in branch if p not in shared]) for branch in branches]
    rest = [part for part in left if part is not None]
    if len(rest) < len(left):
        return tuple(shared)
    return (*shared, BoolOp(BOOLEAN, "or", tuple(rest), span=expr.span))


def is_equality(expr: Expr) -> bool:
    """Tell whether two columns must be equal: what can join two inputs is asked first."""
    match expr:
        case Call(function="=", args=(ColumnRef(), ColumnRef())):
            return True
        case _:
            return False


def is_movable(expr: Expr) -> bool:
    """Tell whether it makes no difference for how many rows an expression is evaluated."""
    return not can_fail(expr) and is_deterministic(expr)
