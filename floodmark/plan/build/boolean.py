"""What WHERE, HAVING and ON take: an expression that is true, false or NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.coercion import as_boolean
from floodmark.plan.bind.collectors import AggregateCollector
from floodmark.plan.bind.scope import QueryScope
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.types import BOOLEAN

if TYPE_CHECKING:
    from floodmark.plan.build.builder import Builder


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
