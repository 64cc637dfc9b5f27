"""Values that are stored as a column's type: which need no cast written, and how they are cast."""

from __future__ import annotations

from contextlib import suppress

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.coercion import castable, coerce
from floodmark.plan.expr.expressions import Cast, Expr, Literal
from floodmark.scalar.casts import cast_value
from floodmark.scalar.functions import RowError
from floodmark.scalar.types import Kind, SqlType


def assignable(source: SqlType, target: SqlType) -> bool:
    """Tell whether a value is stored as another type without a cast being written."""
    a, b = source.kind, target.kind
    if a is Kind.LIST and b is Kind.LIST:
        assert source.element is not None and target.element is not None
        return assignable(source.element, target.element)
    explicit = a is Kind.VARCHAR or a is Kind.JSONB or {a, b} == {Kind.BOOLEAN, Kind.INT}
    return castable(source, target) and (a is b or b is Kind.VARCHAR or not explicit)


def assign(expr: Expr, type_: SqlType, *, name: str | None = None, span: Span | None) -> Expr:
    """Return the expression as what a column of the type holds.

    Raises E0247, at the expression or at `span`, where that needs a cast that nobody wrote, and
    E0258 for a bare text that is no value of the type.
    """
    if expr.type == type_:
        return expr
    if isinstance(expr, Literal) and expr.type.kind is Kind.UNKNOWN:
        return coerce(expr, type_)
    if not assignable(expr.type, type_):
        column = f'column "{name}" is {type_}' if name else f"the column is {type_}"
        raise BindError(
            "E0247",
            f"{column}, the value is {expr.type}",
            span=expr.span or span,
            hint=f"cast it: CAST(… AS {type_})",
        )
    return convert(expr, type_)


def is_default(value: exp.Expression) -> bool:
    """Tell whether a value is the word DEFAULT."""
    return isinstance(value, exp.Var) and value.name == "DEFAULT"


def convert(expr: Expr, type_: SqlType) -> Expr:
    """Return the expression as a value of the type."""
    if expr.type == type_:
        return expr
    if isinstance(expr, Literal) and expr.value is None:
        return Literal(type_, None, span=expr.span)
    if isinstance(expr, Literal) and expr.type.is_numeric and type_.is_numeric:
        # What is out of range is an error of its row.
        with suppress(RowError):
            value = cast_value(expr.value, expr.type, type_)
            return Literal(type_, value, span=expr.span)
    return Cast(type_, expr, span=expr.span)
