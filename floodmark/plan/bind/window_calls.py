"""Calls of window functions."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.aggregate_arguments import check_within_group
from floodmark.plan.bind.aggregate_calls import is_user_aggregate
from floodmark.plan.bind.call_parts import CallParts, arguments_of, bind_order, check_star
from floodmark.plan.bind.calls import check_constants, choose_overload, operand_of
from floodmark.plan.bind.coercion import refuse
from floodmark.plan.bind.collectors import WindowSite
from floodmark.plan.bind.frames import bind_frame
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.plan.expr.window_values import WindowCall
from floodmark.scalar.functions import AGGREGATES, WINDOWS, AggregateFunction, WindowFunction

_JOIN_GROUPS = "GROUP BY in a subquery, and join with it"
_WITH_NULLS = ("lag", "lead", "first_value", "last_value", "nth_value")


def bind_window(binder: ExpressionBinder, node: exp.Window) -> Expr:
    """Return the column of a collected window call."""
    span = binder.span(node)
    if binder.windows is None:
        raise refuse("a window function cannot stand here", span, "compute it in a subquery first")
    parts = CallParts(node.this)
    over = window_parts(node, binder.windows.named, span)
    if is_user_aggregate(binder, parts.name):
        raise refuse(f"{parts.name} with OVER is not available", span, "GROUP BY in a subquery")
    if parts.within is not None or parts.order:
        clause = "ORDER BY inside" if parts.within is None else "WITHIN GROUP"
        raise refuse(f"{parts.name} with {clause} and OVER is not available", span, _JOIN_GROUPS)
    check_within_group(parts.name, within=False, plain=True, span=span)
    inner = binder.without_windows()
    overloads: tuple[AggregateFunction | WindowFunction, ...] = (
        *WINDOWS.get(parts.name, ()),
        *AGGREGATES.get(parts.name, ()),
    )
    if parts.name in WINDOWS and parts.name in AGGREGATES:
        overloads = WINDOWS[parts.name]
    if parts.distinct:
        raise refuse("DISTINCT with OVER is not available", span, _JOIN_GROUPS)
    check_star(parts, span)
    args = arguments_of(inner, parts, (), span)
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
            hint="define it with WINDOW name AS (…), before the windows that use it",
        )
    clauses = _clauses(known)
    in_parentheses = "partition_by" in node.args
    if "partition_by" in own or ("order" in own and "order" in clauses):
        clause = "PARTITION BY" if "partition_by" in own else "ORDER BY"
        raise overridden(f'{clause} cannot override what window "{base.name}" says', span)
    if in_parentheses and "spec" in clauses:
        raise overridden(f'window "{base.name}" has a frame: it cannot be added to', span)
    return {**clauses, **own}


def overridden(message: str, span: Span | None) -> BindError:
    """Return the error of a window that is defined against another one."""
    hint = "OVER name takes a window as it is; OVER (name ORDER BY … ROWS …) adds what it lacks"
    return BindError("E0279", message, span=span, hint=hint)


def _clauses(node: exp.Window) -> dict[str, exp.Expression | list[exp.Expression]]:
    return {k: v for k, v in node.args.items() if k in ("partition_by", "order", "spec") and v}
