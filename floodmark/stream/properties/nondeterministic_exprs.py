"""The non-deterministic parts of an expression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from floodmark.plan.expr.conjunctions import conjuncts
from floodmark.plan.expr.determinism import class_of, is_volatile, reads_now
from floodmark.plan.expr.expressions import (
    AggCall,
    BoolOp,
    Call,
    ColumnRef,
    Expr,
    Now,
    columns_of,
    transform,
    walk,
)
from floodmark.scalar.functions import Determinism, aggregate_overload
from floodmark.stream.properties.monotonicity import monotone_column

_COMPARISONS = ("<", "<=", ">", ">=", "=")


def nondeterministic_exprs(expressions: Iterable[Expr]) -> tuple[str, ...]:
    """Return the non-deterministic calls inside, as people write them: `random()`."""
    found = (_name(part) for expr in expressions for part in walk(expr))
    return tuple(dict.fromkeys(name for name in found if name is not None))


def volatile_aggregate(call: AggCall) -> str | None:
    """Return the aggregate function's name where it is non-deterministic itself."""
    entry = aggregate_overload(call.function, (arg.type for arg in call.args))
    # Only functions that users define say so; the built-in ones order their input.
    declared = getattr(entry, "determinism", Determinism.DETERMINISTIC)
    return None if declared is Determinism.DETERMINISTIC else f"{call.function}()"


def is_temporal(expr: Expr) -> bool:
    """Tell whether a condition compares the row with the epoch's time: `e cmp f(now)`."""
    match expr:
        case Call(function=op, args=(a, b)) if op in _COMPARISONS:
            timed = [side for side in (a, b) if reads_now(side)]
            return len(timed) == 1 and _follows_time(timed[0]) and not is_volatile(expr)
        case BoolOp(op="and"):
            return all(is_temporal(arg) or not nondeterministic_exprs((arg,)) for arg in expr.args)
        case _:
            return False


def nontemporal_exprs(condition: Expr) -> tuple[str, ...]:
    """Return the non-deterministic calls of a condition outside its temporal comparisons."""
    return nondeterministic_exprs(part for part in conjuncts(condition) if not is_temporal(part))


def _follows_time(expr: Expr) -> bool:
    """Tell whether the value never falls as time passes and depends on nothing else."""
    time = ColumnRef(expr.type, "now()")
    bare = transform(expr, lambda e: replace(time, type=e.type) if isinstance(e, Now) else e)
    return columns_of(bare) == {time.name} and monotone_column(bare) == time.name


def _name(part: Expr) -> str | None:
    if class_of(part) is Determinism.DETERMINISTIC:
        return None
    return f"{part.function}()" if isinstance(part, Call) else "now()"
