"""Calls of aggregate and window functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.aggregate_forms import (
    Order,
    check_within,
    jsonb_arguments,
    ordered_set_arguments,
)
from floodmark.plan.bind.calls import check_constants, choose_overload, operand_of
from floodmark.plan.bind.coercion import coerce, refuse
from floodmark.plan.bind.collectors import AggregateCollector, WindowSite
from floodmark.plan.bind.frames import bind_frame
from floodmark.plan.bind.user_functions import bind_arguments, user_call
from floodmark.plan.expr.expressions import AggCall, Call, Expr, Literal
from floodmark.plan.nodes import WindowCall
from floodmark.scalar.functions import (
    AGGREGATES,
    ORDERED_SETS,
    SYNONYMS,
    WINDOWS,
    Aggregate,
    WindowFunction,
)
from floodmark.scalar.functions.user import FunctionKind
from floodmark.scalar.types import VARCHAR, Kind

if TYPE_CHECKING:
    from floodmark.plan.bind.binder import Binder

_JOIN_GROUPS = "GROUP BY in a subquery, and join with it"
_WITH_NULLS = ("lag", "lead", "first_value", "last_value", "nth_value")


class _Parts:
    """A call taken apart: name, arguments, DISTINCT, ORDER BY, FILTER, IGNORE NULLS."""

    def __init__(self, node: exp.Expression) -> None:
        self.filter: exp.Expression | None = None
        self.within: list[exp.Expression] | None = None
        self.ignore_nulls = False
        self.distinct = False
        while not isinstance(node, exp.Anonymous):
            match node:
                case exp.Filter():
                    self.filter = node.expression.this
                case exp.WithinGroup():
                    self.within = node.expression.expressions
                case exp.IgnoreNulls():
                    self.ignore_nulls = True
            node = node.this
        called = str(node.this).lower()
        self.name = SYNONYMS.get(called, called)
        self._take_arguments(list(node.expressions))
        self.distinct = self.distinct or called == "approx_count_distinct"

    def _take_arguments(self, arguments: list[exp.Expression]) -> None:
        self.order: list[exp.Expression] = []
        if arguments and isinstance(arguments[0], (exp.IgnoreNulls, exp.RespectNulls)):
            self.ignore_nulls = isinstance(arguments[0], exp.IgnoreNulls)
            arguments[0] = arguments[0].this
        if arguments and isinstance(arguments[-1], exp.Order):
            order = arguments.pop()
            self.order = order.expressions
            arguments += [order.this] if order.this is not None else []
        self.distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        if self.distinct:
            arguments = [*arguments[0].expressions, *arguments[1:]]
        self.star = bool(arguments) and isinstance(arguments[0], exp.Star)
        self.arguments = [] if self.star else arguments


def bind_order(binder: Binder, items: list[exp.Expression]) -> Order:
    """Return ORDER BY items as (expression, descending, nulls first)."""
    out = []
    for item in items:
        key = binder.bind(item.this if isinstance(item, exp.Ordered) else item)
        typed = coerce(key, VARCHAR) if key.type.kind is Kind.UNKNOWN else key
        descending = bool(item.args.get("desc"))
        first = item.args.get("nulls_first")
        out.append((typed, descending, descending if first is None else bool(first)))
    return tuple(out)


def bind_aggregate(binder: Binder, node: exp.Expression) -> Expr:
    """Return the column of a collected aggregate call."""
    parts, span = _Parts(node), binder.span(node)
    plain = not (parts.distinct or parts.order)
    check_within(parts.name, within=parts.within is not None, plain=plain, span=span)
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


def is_aggregate(binder: Binder, name: str) -> bool:
    """Tell whether a name is that of an aggregate."""
    return name in AGGREGATES or name in SYNONYMS or is_user_aggregate(binder, name)


def is_user_aggregate(binder: Binder, name: str) -> bool:
    """Tell whether a user created an aggregate of that name."""
    found = binder.context.functions.get(name)
    return found is not None and found.kind is FunctionKind.AGGREGATE


def _user_aggregate(
    binder: Binder, collector: AggregateCollector, parts: _Parts, node: exp.Expression
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


def _aggregate(inner: Binder, parts: _Parts, span: Span | None) -> AggCall:
    _check_star(parts, span)
    order = bind_order(inner, parts.order if parts.within is None else parts.within)
    args = _arguments(inner, parts, order, span)
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


def _check_star(parts: _Parts, span: Span | None) -> None:
    """Refuse `*` as an argument of anything but count, and count of nothing: E0274."""
    if parts.star and parts.name != "count":
        raise BindError("E0274", f"{parts.name}(*) does not exist", span=span, hint="count(*) does")
    if parts.name == "count" and not (parts.star or parts.arguments or parts.distinct):
        raise BindError("E0274", "count() does not exist", span=span, hint="count(*) does")


def _arguments(inner: Binder, parts: _Parts, order: Order, span: Span | None) -> list[Expr]:
    """Return the arguments as the registry takes them."""
    args = [inner.bind(a) for a in parts.arguments]
    if parts.name in ORDERED_SETS:
        return ordered_set_arguments(parts.name, args, order, span)
    if parts.name in ("jsonb_agg", "jsonb_object_agg"):
        return jsonb_arguments(parts.name, args, span)
    if parts.name == "count" and parts.distinct and len(args) != 1:
        raise BindError(
            "E0270",
            "the number of distinct values is that of one argument",
            span=span,
            hint="put several into one: count(DISTINCT (a, b))",
        )
    return args


def bind_window(binder: Binder, node: exp.Window) -> Expr:
    """Return the column of a collected window call."""
    span = binder.span(node)
    if binder.windows is None:
        raise refuse("a window function cannot stand here", span, "compute it in a subquery first")
    parts = _Parts(node.this)
    over = window_parts(node, binder.windows.named, span)
    if is_user_aggregate(binder, parts.name):
        raise refuse(f"{parts.name} with OVER is not available", span, "GROUP BY in a subquery")
    if parts.within is not None or parts.order:
        clause = "ORDER BY inside" if parts.within is None else "WITHIN GROUP"
        raise refuse(f"{parts.name} with {clause} and OVER is not available", span, _JOIN_GROUPS)
    check_within(parts.name, within=False, plain=True, span=span)
    inner = binder.without_calls() if binder.aggregates is None else _over_groups(binder)
    overloads: tuple[Aggregate | WindowFunction, ...] = (
        *WINDOWS.get(parts.name, ()),
        *AGGREGATES.get(parts.name, ()),
    )
    if parts.name in WINDOWS and parts.name in AGGREGATES:
        overloads = WINDOWS[parts.name]
    if parts.distinct:
        raise refuse("DISTINCT with OVER is not available", span, _JOIN_GROUPS)
    _check_star(parts, span)
    args = _arguments(inner, parts, (), span)
    function, args = choose_overload(parts.name, overloads, args, span)
    check_constants(parts.name, function.constant, args)
    condition = None if parts.filter is None else inner.condition(parts.filter, "FILTER")
    if condition is not None and isinstance(function, WindowFunction):
        raise refuse(f"FILTER with {parts.name} is not available", span, "write CASE WHEN")
    if parts.ignore_nulls and parts.name not in _WITH_NULLS:
        raise refuse(f"{parts.name} with IGNORE NULLS is not available", span, "leave it out")
    _check_count(parts.name, args, span)
    by, order = over.get("partition_by"), over.get("order")
    # Constants tell no rows apart.
    bound = [inner.bind(e) for e in by] if isinstance(by, list) else []
    partition = tuple(e for e in bound if not isinstance(e, Literal))
    sorted_ = bind_order(inner, order.expressions) if isinstance(order, exp.Order) else ()
    keys = tuple(key for key in sorted_ if not isinstance(key[0], Literal))
    call = WindowCall(
        parts.name,
        tuple(args),
        function.result_type([operand_of(a) for a in args]),
        frame=bind_frame(binder, over.get("spec"), tuple(e.type for e, _, _ in keys)),
        filter=condition,
        ignore_nulls=parts.ignore_nulls,
    )
    return binder.windows.add(WindowSite(call, partition, keys, span=span))


def _check_count(name: str, args: list[Expr], span: Span | None) -> None:
    """Refuse `ntile(0)` and `nth_value(x, 0)`."""
    place = {"ntile": 0, "nth_value": 1}.get(name)
    if place is None:
        return
    count = args[place]
    if isinstance(count, Literal) and count.value is not None and count.value > 0:
        return
    raise BindError(
        "E0293", f"{name} counts from 1", span=span, hint="write a number that is greater than 0"
    )


def _over_groups(binder: Binder) -> Binder:
    """Return a binder for `rank() OVER (ORDER BY sum(x))`: aggregates yes, windows no."""
    return type(binder)(binder.scope, binder.context, binder.aggregates)


def window_parts(
    node: exp.Window, named: Mapping[str, exp.Window], span: Span | None
) -> dict[str, exp.Expression | list[exp.Expression]]:
    """Return the clauses of a window, those of the one that it names included.

    Raises E0275 for an unknown name, E0279 for a clause that would override what the name says.
    """
    own = _clauses(node)
    base = node.args.get("alias")
    if base is None:
        return own
    known = named.get(str(base.name))
    if known is None:
        raise BindError(
            "E0275",
            f'there is no window "{base.name}"',
            span=span,
            hint="define it with WINDOW name AS (…), before what uses it",
        )
    found = _clauses(known)
    in_parentheses = "partition_by" in node.args
    if "partition_by" in own or ("order" in own and "order" in found):
        clause = "PARTITION BY" if "partition_by" in own else "ORDER BY"
        raise overridden(f'{clause} cannot override what window "{base.name}" says', span)
    if in_parentheses and "spec" in found:
        raise overridden(f'window "{base.name}" has a frame: it cannot be added to', span)
    return {**found, **own}


def overridden(message: str, span: Span | None) -> BindError:
    """Return the error of a window that is defined against another one."""
    hint = "OVER name takes a window as it is; OVER (name ORDER BY … ROWS …) adds what it lacks"
    return BindError("E0279", message, span=span, hint=hint)


def _clauses(node: exp.Window) -> dict[str, exp.Expression | list[exp.Expression]]:
    return {k: v for k, v in node.args.items() if k in ("partition_by", "order", "spec") and v}
