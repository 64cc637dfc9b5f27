"""The binder proper: one method per family of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.aggregate_calls import bind_aggregate, is_aggregate
from floodmark.plan.bind.calls import (
    CLOCKS,
    bind_call,
    bind_volatile,
    identifier_name,
    unknown_function,
)
from floodmark.plan.bind.coercion import (
    as_boolean,
    bind_type,
    coerce,
    interval_literal,
    number_literal,
    refuse,
    text_length,
    unify,
)
from floodmark.plan.bind.collectors import AggregateCollector, SetCollector, WindowCollector
from floodmark.plan.bind.comparisons import (
    bind_between,
    bind_in,
    bind_is,
    bind_not,
    bind_operator,
    combine,
)
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.operators import OPERATORS
from floodmark.plan.bind.precisions import round_digits
from floodmark.plan.bind.scope import SchemaScope, Scope
from floodmark.plan.bind.set_calls import bind_set_column, is_set
from floodmark.plan.bind.special_forms import (
    bind_array,
    bind_special,
    bind_zone,
    regex_group,
    without_collation,
)
from floodmark.plan.bind.user_calls import bind_user_call
from floodmark.plan.bind.wide_numbers import as_inexact, bind_alike
from floodmark.plan.bind.window_calls import bind_window
from floodmark.plan.expr.expressions import Call, Case, Expr, Literal, Now
from floodmark.plan.expr.size import check_growth, check_parts
from floodmark.plan.expr.window_values import Interval
from floodmark.scalar.functions import REGISTRY, WINDOWS, Determinism
from floodmark.scalar.types import (
    BOOLEAN,
    INT,
    INTERVAL,
    TIMESTAMPTZ,
    UNKNOWN,
    VARCHAR,
    SqlType,
)
from floodmark.sql.spans import span_of

_VOLATILE = frozenset(
    name for name, functions in REGISTRY.items() if functions[0].determinism is Determinism.VOLATILE
)


@dataclass(frozen=True)
class Binder:
    """Binds the nodes of one expression."""

    scope: Scope
    context: BindContext
    aggregates: AggregateCollector | None = None
    windows: WindowCollector | None = None
    sets: SetCollector | None = None

    def span(self, node: exp.Expression) -> Span | None:
        """Return where a node stands."""
        return span_of(node, self.context.source)

    def bind(self, node: exp.Expression) -> Expr:
        """Return the typed form of any node; E0147 for one that grows too large."""
        span = self.span(node)
        check_parts(1 + len(node.expressions), span)
        bound = self._bind_node(node)
        check_growth(bound, span)
        return bound

    def _bind_node(self, node: exp.Expression) -> Expr:
        operator = OPERATORS.get(type(node))
        if operator is not None:
            return bind_operator(self, operator, node)
        match node:
            case exp.Paren() | exp.Alias():
                return self.bind(node.this)
            case exp.Collate():
                return self.bind(without_collation(node, self.span(node)))
            case exp.Column():
                return self._column(node)
            case exp.Literal() | exp.Null() | exp.Boolean() | exp.Interval():
                return self._literal(node)
            case exp.Cast():
                return self._cast(node)
            case exp.And() | exp.Or():
                return self._logic(node)
            case exp.Not():
                return bind_not(self, node)
            case exp.Neg() | exp.BitwiseNot():
                return self.call("neg" if isinstance(node, exp.Neg) else "~", node, [node.this])
            case exp.Between():
                return bind_between(self, node)
            case (
                exp.Anonymous()
                | exp.Filter()
                | exp.WithinGroup()
                | exp.Window()
                | exp.IgnoreNulls()
                | exp.RespectNulls()
            ):
                return self._function(node)
            case exp.Subquery() | exp.Exists():
                return self.subquery(node)
            case _:
                return self._rest(node)

    def _rest(self, node: exp.Expression) -> Expr:
        match node:
            case exp.Case():
                return self._case(node)
            case exp.In():
                return bind_in(self, node)
            case exp.Is():
                return bind_is(self, node)
            case exp.Extract():
                field = Literal(VARCHAR, node.this.name.lower(), span=self.span(node.this))
                return bind_call("extract", [field, self.bind(node.expression)], self.span(node))
            case exp.AtTimeZone():
                return bind_zone(self, node, node.this, node.args["zone"])
            case exp.Escape():
                name = OPERATORS[type(node.this)]
                return self.call(
                    name, node, [node.this.this, node.this.expression, node.expression]
                )
            case exp.Array():
                return self._array(node)
            case exp.Bracket():
                return self._subscript(node)
            case exp.Dot():
                return self._field(node)
            case exp.Tuple():
                return self.call("row", node, node.expressions)
            case _:
                text = node.sql("postgres")
                raise refuse(
                    f"{text[:60]} is not available in an expression",
                    self.span(node),
                    hint="compute it in a subquery or a view, and name its column",
                )

    def call(self, name: str, node: exp.Expression, arguments: list[exp.Expression]) -> Expr:
        """Bind a call of a registered scalar function."""
        return bind_call(name, self.together(arguments), self.span(node))

    def together(self, nodes: Sequence[exp.Expression]) -> list[Expr]:
        """Bind the operands of a call or comparison together."""
        return bind_alike(nodes, self.bind, self.span)

    def bind_with_type(self, node: exp.Expression, target: SqlType) -> Expr:
        """Bind a value that is stored or cast as a type; only numbers that need it have it."""
        return as_inexact(node, target, self.span(node)) or self.bind(node)

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            raise BindError(
                "E0264",
                "* is allowed only in the SELECT list and in count(*)",
                span=self.span(node),
                hint="name a column in its place",
            )
        table = node.args.get("table")
        return self.scope.resolve(
            None if table is None else identifier_name(table),
            identifier_name(node.this),
            self.span(node),
        )

    def _literal(self, node: exp.Expression) -> Expr:
        span = self.span(node)
        match node:
            case exp.Null():
                return Literal(UNKNOWN, None, span=span)
            case exp.Boolean():
                return Literal(BOOLEAN, bool(node.this), span=span)
            case exp.Interval():
                return interval_literal(node, span)
            case exp.Literal(is_string=True):
                return Literal(UNKNOWN, str(node.this), span=span)
            case _:
                return number_literal(str(node.this), span)

    def _cast(self, node: exp.Cast) -> Expr:
        span = self.span(node)
        target, length = bind_type(node.args["to"], span), text_length(node.args["to"])
        empty = isinstance(node.this, exp.Array) and not node.this.expressions
        bound = Literal(UNKNOWN, "{}") if empty else self.bind_with_type(node.this, target)
        cast = coerce(bound, target)
        if length is not None:
            cast = Call(VARCHAR, "left", (cast, Literal(INT, length)))
        cast = round_digits(cast, node.args["to"], span)
        return replace(cast, span=span)

    def _logic(self, node: exp.Expression) -> Expr:
        op = "and" if isinstance(node, exp.And) else "or"
        parts: list[exp.Expression] = []
        stack = [node]
        while stack:
            part = stack.pop()
            inner = part.unnest() if isinstance(part, exp.Paren) else part
            if type(inner) is type(node):
                stack += [inner.expression, inner.this]
            else:
                parts.append(part)
        return combine(op, [self.condition(p, op.upper()) for p in parts], self.span(node))

    def condition(self, node: exp.Expression, what: str) -> Expr:
        """Bind a condition; one that is neither true nor false is E0266, named `what`."""
        return as_boolean(self.bind(node), "E0266", f"{what} needs true or false", self.span(node))

    def _case(self, node: exp.Case) -> Expr:
        span = self.span(node)
        check_parts((2 if node.this is None else 4) * len(node.args["ifs"]), span)
        operand = None if node.this is None else self.bind(node.this)
        conditions: list[Expr] = []
        for branch in node.args["ifs"]:
            if operand is None:
                conditions.append(self.condition(branch.this, "WHEN"))
            else:
                test = [operand, self.bind(branch.this)]
                conditions.append(bind_call("=", test, self.span(branch)))
        default = node.args.get("default")
        values = [self.bind(b.args["true"]) for b in node.args["ifs"]]
        values += [] if default is None else [self.bind(default)]
        values = unify(values, "CASE", span)
        otherwise = None if default is None else values.pop()
        return Case(
            values[0].type, tuple(zip(conditions, values, strict=True)), otherwise, span=span
        )

    def _array(self, node: exp.Array) -> Expr:
        if any(isinstance(e, exp.Subquery) for e in node.expressions):
            return self.subquery(node)
        if not node.expressions:
            text, hint = "an array of nothing has no type", "cast it, as in ARRAY[]::int[]"
            raise BindError("E0278", text, span=self.span(node), hint=hint)
        return bind_array(self, node)

    def _subscript(self, node: exp.Bracket) -> Expr:
        index = node.expressions[0]
        if not isinstance(index, exp.Slice):
            return regex_group(self.call("subscript", node, [node.this, index]))
        low = index.this or exp.Literal.number(1)
        high = index.expression or exp.Literal.number((1 << 31) - 1)
        return self.call("array_slice", node, [node.this, low, high])

    def _field(self, node: exp.Dot) -> Expr:
        operand, name = self.bind(node.this), identifier_name(node.expression)
        names = [f.name for f in operand.type.fields]
        if name not in names:
            known = ", ".join(names) or "none: it is no struct"
            raise BindError(
                "E0267",
                f'there is no field "{name}" in {operand.type}',
                span=self.span(node),
                hint=f"fields: {known}",
            )
        return bind_call("field", [operand, Literal(VARCHAR, name)], self.span(node))

    def subquery(self, node: exp.Expression) -> Expr:
        """Return what stands for a subquery; it is refused where nothing can bind it."""
        if self.context.subquery is None:
            raise refuse("a subquery cannot stand here", self.span(node), "write it in WHERE")
        return self.context.subquery(node)

    def _function(self, node: exp.Expression) -> Expr:
        if isinstance(node, exp.Window):
            return bind_window(self, node)
        call = node
        while not isinstance(call, exp.Anonymous):
            call = call.this
        name = str(call.this).lower()
        special = bind_special(self, name, call)
        if special is not None:
            return special
        if call is not node or is_aggregate(self, name):
            return bind_aggregate(self, node)
        if name in CLOCKS and not call.expressions:
            return coerce(Now(TIMESTAMPTZ, span=self.span(node)), CLOCKS[name])
        if name in WINDOWS:
            raise BindError(
                "E0268",
                f"{name} needs OVER (…)",
                span=self.span(node),
                hint="write OVER (ORDER BY …) behind it",
            )
        if is_set(self, name):
            return bind_set_column(self, name, call)
        if name in self.context.functions:
            return bind_user_call(self, self.context.functions[name], node, call.expressions)
        if name in _VOLATILE and not call.expressions:
            return bind_volatile(name, self.context.positions.number_of(node), self.span(node))
        if name not in REGISTRY:
            raise unknown_function(name, self.context.functions, self.span(node))
        return self.call(name, node, call.expressions)

    def without_sets(self) -> Binder:
        """Return a binder that refuses set-returning calls, for their own arguments."""
        return replace(self, sets=None)

    def without_calls(self) -> Binder:
        """Return a binder without collectors, for arguments of aggregates."""
        return self.with_scope(self.scope, self.context)

    def without_windows(self) -> Binder:
        """Return a binder with aggregates alone, for `rank() OVER (ORDER BY sum(x))`."""
        return Binder(self.scope, self.context, self.aggregates)

    def with_scope(self, scope: Scope, context: BindContext) -> Binder:
        """Return a binder of another scope, without collectors."""
        return Binder(scope, context)


def bind_scalar(
    node: exp.Expression,
    scope: Scope,
    context: BindContext,
    *,
    aggregates: AggregateCollector | None = None,
    windows: WindowCollector | None = None,
    sets: SetCollector | None = None,
    target: SqlType | None = None,
) -> Expr:
    """Return the typed expression; `target` is what it is stored as, if that is known.

    A string literal or NULL that nothing gave a type stays a `Literal` of type UNKNOWN. Without
    a collector, aggregate, window or set-returning calls are refused.

    Raises:
        BindError: unknown names, types that do not fit, literals that are not values of their type.
        NotSupported: what is understood and not available.
    """
    binder = Binder(scope, context, aggregates, windows, sets)
    return binder.bind(node) if target is None else binder.bind_with_type(node, target)


def bind_interval(node: exp.Expression, context: BindContext) -> Interval:
    """Return the constant (months, days, microseconds) of an interval expression."""
    bound = coerce(bind_scalar(node, SchemaScope(()), context), INTERVAL)
    if not isinstance(bound, Literal) or bound.value is None:
        raise BindError(
            "E0263",
            "this must be a constant interval",
            span=span_of(node, context.source),
            hint="such as INTERVAL '5 minutes'",
        )
    months, days, micros = bound.value
    return months, days, micros


def bind_condition(
    node: exp.Expression,
    scope: Scope,
    context: BindContext,
    clause: str,
    aggregates: AggregateCollector | None = None,
) -> Expr:
    """Bind the condition of WHERE, HAVING or ON; another type than BOOLEAN is E0218.

    A bare text is one where it reads as one, else E0258.
    """
    expr = bind_scalar(node, scope, context, aggregates=aggregates)
    if isinstance(expr, Literal) and expr.value is None:
        return Literal(BOOLEAN, None, span=expr.span)
    place = span_of(node, context.source)
    return as_boolean(expr, "E0218", f"argument of {clause} must be boolean", place)
