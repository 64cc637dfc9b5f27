"""Calls of aggregates."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.aggregate_arguments import check_within_group
from floodmark.plan.bind.call_parts import CallParts, arguments_of, bind_order, check_star
from floodmark.plan.bind.calls import check_constants, choose_overload, operand_of
from floodmark.plan.bind.coercion import refuse
from floodmark.plan.bind.collectors import AggregateCollector
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.bind.user_calls import bind_arguments, user_call
from floodmark.plan.expr.expressions import AggCall, Call, Expr
from floodmark.scalar.functions import (
    AGGREGATES,
    SYNONYMS,
)
from floodmark.scalar.functions.user import FunctionKind


def bind_aggregate(binder: ExpressionBinder, node: exp.Expression) -> Expr:
    """Return the column of a collected aggregate call."""
    parts, span = CallParts(node), binder.span(node)
    plain = not (parts.distinct or parts.order)
    check_within_group(parts.name, within=parts.within is not None, plain=plain, span=span)
    if parts.ignore_nulls:
        hint = f"{parts.name}(x) FILTER (WHERE x IS NOT NULL)"
        raise refuse(
            f"{parts.name} with IGNORE NULLS and without OVER is not available", span, hint
        )
    own = is_user_aggregate(binder, parts.name)
    if parts.name not in AGGREGATES and not own:
        raise BindError(
            "E0272",
            f"{parts.name} is not an aggregate function",
            span=span,
            hint="FILTER, DISTINCT and ORDER BY in a call are for aggregates: leave them out",
        )
    if binder.aggregates is None:
        raise BindError(
            "E0273",
            f"the aggregate {parts.name} cannot stand here",
            span=span,
            hint="aggregates belong in SELECT, HAVING and ORDER BY, not inside each other",
        )
    if own:
        return _user_aggregate(binder, binder.aggregates, parts, node)
    return binder.aggregates.add(_aggregate(binder.without_calls(), parts, span))


def is_aggregate(binder: ExpressionBinder, name: str) -> bool:
    """Tell whether a name is that of an aggregate."""
    return name in AGGREGATES or name in SYNONYMS or is_user_aggregate(binder, name)


def is_user_aggregate(binder: ExpressionBinder, name: str) -> bool:
    """Tell whether a user created an aggregate of that name."""
    function = binder.context.functions.get(name)
    return function is not None and function.kind is FunctionKind.AGGREGATE


def _user_aggregate(
    binder: ExpressionBinder, collector: AggregateCollector, parts: CallParts, node: exp.Expression
) -> Expr:
    """Return a user's aggregate: its function over the ARRAY of the group's values in order.

    The order is the one asked for and then that of the values, so that none is left to chance.
    """
    function, inner = binder.context.functions[parts.name], binder.without_calls()
    args = bind_arguments(inner, function, node, parts.arguments)
    span = binder.span(node)
    (taken,) = function.takes
    assert taken.element is not None
    one = args[0] if len(args) == 1 else Call(taken.element, "row", tuple(args), span=span)
    asked = bind_order(inner, parts.order)
    by_value = tuple((a, False, False) for a in args if all(a != e for e, _, _ in asked))
    call = AggCall(
        "array_agg",
        (one,),
        taken,
        distinct=parts.distinct,
        filter=None if parts.filter is None else inner.condition(parts.filter, "FILTER"),
        order_by=(*asked, *by_value),
        span=span,
    )
    return user_call(function, (collector.add(call),), span)


def _aggregate(inner: ExpressionBinder, parts: CallParts, span: Span | None) -> AggCall:
    check_star(parts, span)
    order = bind_order(inner, parts.order if parts.within is None else parts.within)
    args = arguments_of(inner, parts, order, span)
    aggregate, args = choose_overload(parts.name, AGGREGATES[parts.name], args, span)
    check_constants(parts.name, aggregate.constant, args)
    if aggregate.ordered_set:
        # The list has no NULLs: where they would be does not matter.
        order = tuple((args[0], descending, descending) for _, descending, _ in order)
    condition = None if parts.filter is None else inner.condition(parts.filter, "FILTER")
    return AggCall(
        parts.name,
        tuple(args),
        aggregate.result_type([operand_of(a) for a in args]),
        distinct=parts.distinct and not aggregate.ignores_distinct,
        filter=condition,
        # The order of a sum does not matter; keeping it would make two calls of one.
        order_by=order if aggregate.order_sensitive else (),
        span=span,
    )
