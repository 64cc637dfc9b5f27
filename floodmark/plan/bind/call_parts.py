"""A call of an aggregate or window function taken apart."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.aggregate_arguments import Order, arguments_of_ordered_set, jsonb_arguments
from floodmark.plan.bind.coercion import coerce
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions import ORDERED_SETS, SYNONYMS
from floodmark.scalar.types import VARCHAR, Kind


class CallParts:
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


def bind_order(binder: ExpressionBinder, items: list[exp.Expression]) -> Order:
    """Return ORDER BY items as (expression, descending, nulls first)."""
    out = []
    for item in items:
        key = binder.bind(item.this if isinstance(item, exp.Ordered) else item)
        typed = coerce(key, VARCHAR) if key.type.kind is Kind.UNKNOWN else key
        descending = bool(item.args.get("desc"))
        first = item.args.get("nulls_first")
        out.append((typed, descending, descending if first is None else bool(first)))
    return tuple(out)


def check_star(parts: CallParts, span: Span | None) -> None:
    """Refuse `*` as an argument of anything but count, and count of nothing: E0274."""
    if parts.star and parts.name != "count":
        raise BindError("E0274", f"{parts.name}(*) does not exist", span=span, hint="count(*) does")
    if parts.name == "count" and not (parts.star or parts.arguments or parts.distinct):
        raise BindError("E0274", "count() does not exist", span=span, hint="count(*) does")


def arguments_of(
    inner: ExpressionBinder, parts: CallParts, order: Order, span: Span | None
) -> list[Expr]:
    """Return the arguments as the registry takes them."""
    args = [inner.bind(a) for a in parts.arguments]
    if parts.name in ORDERED_SETS:
        return arguments_of_ordered_set(parts.name, args, order, span)
    if parts.name in ("jsonb_agg", "jsonb_object_agg"):
        return jsonb_arguments(parts.name, args, span)
    if parts.name == "count" and parts.distinct and len(args) != 1:
        raise BindError(
            "E0270",
            "DISTINCT takes one argument",
            span=span,
            hint="combine several in a row: count(DISTINCT (a, b))",
        )
    return args
