"""What WHERE, HAVING and ON take: an expression that is true, false or NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.catalog.types import BOOLEAN, Kind
from floodmark.errors import BindError, Span
from floodmark.plan.bind import AggregateCollector, bind_scalar
from floodmark.plan.coerce import coerce
from floodmark.plan.expressions import Expr, Literal
from floodmark.plan.scope import QueryScope

if TYPE_CHECKING:
    from floodmark.plan.build import Builder


def boolean(
    builder: Builder,
    e: exp.Expression,
    scope: QueryScope,
    clause: str,
    collector: AggregateCollector | None = None,
) -> Expr:
    """Bind a clause's condition; one that is neither true nor false is E0218.

    A bare text is one where it reads as one, else E0258.
    """
    expr = bind_scalar(e, scope, builder.context, aggregates=collector)
    if isinstance(expr, Literal) and expr.value is None:
        return Literal(BOOLEAN, None, span=expr.span)
    return as_boolean(expr, "E0218", f"argument of {clause} must be boolean", builder.span(e))


def as_boolean(expr: Expr, code: str, what: str, span: Span | None) -> Expr:
    """Return a condition; `what` says that one is needed where it is none."""
    if expr.type.kind is Kind.UNKNOWN:
        return coerce(expr, BOOLEAN)
    if expr.type != BOOLEAN:
        hint = "compare it with something"
        raise BindError(code, f"{what}, not {expr.type}", span=span, hint=hint)
    return expr
