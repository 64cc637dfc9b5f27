"""What an expression means, over the Python values of one row.

The engine asks it for bounds, watermarks and defaults; the reference evaluates whole queries by it.
So neither checks it. Two others do: `tests/spark/test_expressions.py` compares it with what Spark
computes from the text that the engine gives it, and `tests/postgres` with a PostgreSQL server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from floodmark.plan.expr.determinism import class_of
from floodmark.plan.expr.expressions import (
    AttemptExpr,
    BoolOp,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    Now,
    OutcomeExpr,
    Volatile,
)
from floodmark.plan.expr.sums import is_near_sum
from floodmark.scalar.casts import cast_value
from floodmark.scalar.functions import Determinism, RowError, lookup
from floodmark.scalar.functions.comparison import COMPARISONS, interval_micros
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.scalar.functions.volatile import RowSeed, replay
from floodmark.scalar.functions.years import ENDS, OutOfRange

ValueOrCode = tuple[Any, int | None]
"""A value and the code of the error that took its place; one of the two is None."""


@dataclass(frozen=True, slots=True)
class _RowContext:
    """Where an expression is evaluated; `drawn` are the values that calls gave there, each once."""

    row: Mapping[str, Any]
    now: datetime | None
    seed: RowSeed | None
    drawn: dict[Expr, ValueOrCode] = field(default_factory=dict)


def evaluate(
    expr: Expr,
    row: Mapping[str, Any],
    now: datetime | None = None,
    seed: RowSeed | None = None,
) -> ValueOrCode:
    """Return the value of an expression for a row, or why it has none.

    `now` is the epoch's time, naive in UTC or aware; needed only where the expression reads it.
    `seed` says what identifies the row, for replay-stable volatile functions; its columns are in
    `row`. Without it each evaluation draws anew. Equal calls in one expression are one call.
    """
    return _value(expr, _RowContext(row, now, seed))


def evaluate_bound(expr: Expr, row: Mapping[str, Any], now: datetime | None = None) -> ValueOrCode:
    """Return a time that others are compared with; one outside of the years is no error there."""
    return _comparison_value(expr, _RowContext(row, now, None))


def _comparison_value(expr: Expr, at: _RowContext) -> ValueOrCode:
    if isinstance(expr, Cast) and {expr.type.kind, expr.operand.type.kind} <= ENDS.keys():
        value, error = _comparison_value(expr.operand, at)
        if error is not None or isinstance(value, OutOfRange):
            return value, error
        return _catch_error(lambda: cast_value(value, expr.operand.type, expr.type))
    value, error = _value(expr, at)
    if error != RowErrorCode.TIME_OUT_OF_RANGE or not is_near_sum(expr):
        return value, error
    assert isinstance(expr, Call)
    given = [_value(a, at) for a in expr.args]
    if any(problem is not None for _, problem in given):
        return None, error
    step = next(a.value for a in expr.args if isinstance(a, Literal))
    forward = step > 0 if isinstance(step, int) else interval_micros(step) > 0
    return OutOfRange(1 if forward == (expr.function == "+") else -1), None


def _value(expr: Expr, at: _RowContext) -> ValueOrCode:
    match expr:
        case ColumnRef():
            return at.row[expr.name], None
        case Literal():
            return expr.value, None
        case Now():
            assert at.now is not None, "an expression reads now()"
            return (at.now.replace(tzinfo=UTC) if at.now.tzinfo is None else at.now), None
        case Cast():
            value, error = _value(expr.operand, at)
            if error is not None:
                return None, error
            return _catch_error(lambda: cast_value(value, expr.operand.type, expr.type))
        case BoolOp():
            return _logic(expr, [_value(a, at) for a in expr.args])
        case Case():
            return _case(expr, at)
        case AttemptExpr():
            return (*_value(expr.operand, at), None), None
        case OutcomeExpr():
            held, error = _value(expr.operand, at)
            return (None, error) if held is None else held[:2]
        case Volatile() if at.seed is not None:
            return replay(expr.function, at.seed.text(expr.position, at.row), at.now), None
        case Call() if class_of(expr) is not Determinism.DETERMINISTIC:
            if expr not in at.drawn:
                at.drawn[expr] = _call(expr, at)
            return at.drawn[expr]
        case Call():
            return _call(expr, at)
        case _:
            raise AssertionError(expr)


def _catch_error(compute: Any) -> ValueOrCode:
    try:
        return compute(), None
    except RowError as refused:
        return None, int(refused.code)


def _logic(expr: BoolOp, pairs: Sequence[ValueOrCode]) -> ValueOrCode:
    """FALSE absorbs for AND and TRUE for OR; else the smallest error; else NULL."""
    absorbing = expr.op == "or"
    if any(value is absorbing for value, _ in pairs):
        return absorbing, None
    errors = [error for _, error in pairs if error is not None]
    if errors:
        return None, min(errors)
    return (None if any(value is None for value, _ in pairs) else not absorbing), None


def _case(expr: Case, at: _RowContext) -> ValueOrCode:
    for condition, result in expr.whens:
        value, error = _value(condition, at)
        if error is not None:
            return None, error
        if value:
            return _value(result, at)
    return (None, None) if expr.otherwise is None else _value(expr.otherwise, at)


def _call(expr: Call, at: _RowContext) -> ValueOrCode:
    if expr.function == "coalesce":
        for arg in expr.args:
            value, error = _value(arg, at)
            if value is not None or error is not None:
                return value, error
        return None, None
    value_of = _comparison_value if expr.function in COMPARISONS else _value
    pairs = [value_of(a, at) for a in expr.args]
    errors = [error for _, error in pairs if error is not None]
    if errors:
        return None, min(errors)
    function, values = lookup(expr), [value for value, _ in pairs]
    if function.strict and any(v is None for v in values):
        return None, None
    types = (tuple(a.type for a in expr.args), expr.type) if function.typed else ()
    return _catch_error(lambda: function.python(*types, *values))
