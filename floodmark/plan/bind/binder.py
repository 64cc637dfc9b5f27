"""The binder proper: one method per family of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.calls import CLOCKS, bind_call, bind_volatile, folded, unknown_function
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
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.grouped_calls import bind_aggregate, bind_window, is_aggregate
from floodmark.plan.bind.precisions import in_digits
from floodmark.plan.bind.scope import SchemaScope, Scope
from floodmark.plan.bind.set_calls import bind_set_column, is_set
from floodmark.plan.bind.special_forms import bind_array, bind_special, bind_zone, collated, picked
from floodmark.plan.bind.user_functions import bind_user_call
from floodmark.plan.bind.wide_numbers import as_inexact, bound_together
from floodmark.plan.expr.expressions import BoolOp, Call, Case, Expr, Literal, Now, columns_of
from floodmark.plan.expr.size import check_growth, check_parts
from floodmark.plan.nodes import Interval
from floodmark.scalar.functions import REGISTRY, WINDOWS, Determinism
from floodmark.scalar.promotion import compared_type
from floodmark.scalar.types import BOOLEAN, INT, TIMESTAMPTZ, UNKNOWN, VARCHAR, Kind, SqlType
from floodmark.sql.spans import span_of

if TYPE_CHECKING:
    from floodmark.plan.bind.collectors import SetCollector

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Pow: "^",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "#",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "~",
    exp.RegexpILike: "~*",
    exp.JSONExtract: "->",
    exp.JSONExtractScalar: "->>",
    exp.JSONBExtract: "#>",
    exp.JSONBExtractScalar: "#>>",
    exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@",
    exp.ArrayOverlaps: "&&",
    exp.JSONBContains: "?",
    exp.JSONBContainsAnyTopKeys: "?|",
    exp.JSONBContainsAllTopKeys: "?&",
    exp.JSONBDeleteAtPath: "#-",
    exp.SimilarTo: "similar",
    exp.NullSafeEQ: "is_not_distinct_from",
    exp.NullSafeNEQ: "is_distinct_from",
}
_VOLATILE = frozenset(
    name for name, found in REGISTRY.items() if found[0].determinism is Determinism.VOLATILE
)
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


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
        bound = self._bound(node)
        check_growth(bound, span)
        return bound

    def _bound(self, node: exp.Expression) -> Expr:
        operator = _OPERATORS.get(type(node))
        if operator is not None:
            return self._operator(operator, node)
        match node:
            case exp.Paren() | exp.Alias():
                return self.bind(node.this)
            case exp.Collate():
                return self.bind(collated(node, self.span(node)))
            case exp.Column():
                return self._column(node)
            case exp.Literal() | exp.Null() | exp.Boolean() | exp.Interval():
                return self._literal(node)
            case exp.Cast():
                return self._cast(node)
            case exp.And() | exp.Or():
                return self._logic(node)
            case exp.Not():
                return self._not(node)
            case exp.Neg() | exp.BitwiseNot():
                return self.call("neg" if isinstance(node, exp.Neg) else "~", node, [node.this])
            case exp.Between():
                return self._between(node)
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
                return self._subquery(node)
            case _:
                return self._rest(node)

    def _rest(self, node: exp.Expression) -> Expr:
        match node:
            case exp.Case():
                return self._case(node)
            case exp.In():
                return self._in(node)
            case exp.Is():
                return self._is(node)
            case exp.Extract():
                field = Literal(VARCHAR, node.this.name.lower(), span=self.span(node.this))
                return bind_call("extract", [field, self.bind(node.expression)], self.span(node))
            case exp.AtTimeZone():
                return bind_zone(self, node, node.this, node.args["zone"])
            case exp.Escape():
                name = _OPERATORS[type(node.this)]
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
        """Bind what stands together in a call or comparison."""
        return bound_together(nodes, self.bind, self.span)

    def bind_as(self, node: exp.Expression, target: SqlType) -> Expr:
        """Bind what is stored or cast as a type; only a number that needs it has the type."""
        return as_inexact(node, target, self.span(node)) or self.bind(node)

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            raise BindError(
                "E0264",
                "* stands alone in the SELECT list or in count(*)",
                span=self.span(node),
                hint="name a column in its place",
            )
        table = node.args.get("table")
        return self.scope.resolve(
            None if table is None else folded(table), folded(node.this), self.span(node)
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
        bound = Literal(UNKNOWN, "{}") if empty else self.bind_as(node.this, target)
        cast = coerce(bound, target)
        if length is not None:
            cast = Call(VARCHAR, "left", (cast, Literal(INT, length)))
        cast = in_digits(cast, node.args["to"], span)
        return replace(cast, span=span)

    def _operator(self, name: str, node: exp.Expression) -> Expr:
        right = node.args["expression"]
        if isinstance(right, (exp.Any, exp.All)):
            return self._quantified(name, node, right)
        if (
            name in _COMPARISONS
            and isinstance(node.this, exp.Tuple)
            and isinstance(right, exp.Tuple)
        ):
            return self._rows(name, node, node.this, right)
        return self.call(name, node, [node.this, right])

    def _rows(self, name: str, node: exp.Expression, left: exp.Tuple, right: exp.Tuple) -> Expr:
        if len(left.expressions) != len(right.expressions):
            raise BindError(
                "E0265",
                "the two rows have different numbers of values",
                span=self.span(node),
                hint="write as many values on both sides",
            )
        if name not in ("=", "<>"):
            raise refuse(
                "rows can be compared with = and <> only",
                self.span(node),
                hint="compare the values one by one: a < c OR (a = c AND b < d)",
            )
        pairs = zip(left.expressions, right.expressions, strict=True)
        tests = [bind_call("=", [self.bind(a), self.bind(b)], self.span(node)) for a, b in pairs]
        equal = self._join("and", tests, self.span(node))
        return equal if name == "=" else Call(BOOLEAN, "not", (equal,), span=self.span(node))

    def _quantified(self, name: str, node: exp.Expression, right: exp.Expression) -> Expr:
        inner = right.this.this if isinstance(right.this, exp.Paren) else right.this
        if isinstance(inner, exp.Subquery):
            return self._subquery(node)
        span = self.span(node)
        if not isinstance(inner, exp.Array):
            if name == "=" and isinstance(right, exp.Any):
                return bind_call("any_equal", [self.bind(node.this), self.bind(inner)], span)
            raise refuse(
                "ANY and ALL need = or a list in ARRAY[…]",
                span,
                hint="write x = ANY (ARRAY[…]), or compare with min(…) or max(…) of a subquery",
            )
        check_parts(3 * len(inner.expressions), span)
        value = self.bind(node.this)
        tests = [bind_call(name, [value, self.bind(e)], span) for e in inner.expressions]
        if not tests:
            return Literal(BOOLEAN, isinstance(right, exp.All), span=span)
        return self._join("or" if isinstance(right, exp.Any) else "and", tests, span)

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
        return self._join(op, [self.condition(p, op.upper()) for p in parts], self.span(node))

    def _join(self, op: str, tests: list[Expr], span: Span | None) -> Expr:
        return tests[0] if len(tests) == 1 else BoolOp(BOOLEAN, op, tuple(tests), span=span)

    def condition(self, node: exp.Expression, what: str) -> Expr:
        """Bind a condition; one that is neither true nor false is E0266, named `what`."""
        return as_boolean(self.bind(node), "E0266", f"{what} needs true or false", self.span(node))

    def _not(self, node: exp.Not) -> Expr:
        span, inner = self.span(node), node.this
        if isinstance(inner, exp.Is):
            positive = self._is(inner)
            assert isinstance(positive, Call)
            return replace(
                positive, function=positive.function.replace("is_", "is_not_"), span=span
            )
        return Call(BOOLEAN, "not", (self.condition(inner, "NOT"),), span=span)

    def _is(self, node: exp.Is) -> Expr:
        match node.expression:
            case exp.Null():
                operand = self.bind(node.this)
                typed = coerce(operand, VARCHAR) if operand.type.kind is Kind.UNKNOWN else operand
                return Call(BOOLEAN, "is_null", (typed,), span=self.span(node))
            case exp.Boolean() as truth:
                word = "is_true" if truth.this else "is_false"
                return Call(BOOLEAN, word, (self.condition(node.this, "IS"),), span=self.span(node))
            case _:
                raise refuse(
                    "IS knows NULL, TRUE, FALSE, UNKNOWN and DISTINCT FROM",
                    self.span(node),
                    hint="compare with = for another value",
                )

    def _between(self, node: exp.Between) -> Expr:
        span = self.span(node)
        value, low, high = self.together([node.args[k] for k in ("this", "low", "high")])
        if node.args.get("symmetric"):
            low, high = (bind_call(n, [low, high], span) for n in ("least", "greatest"))
        tests = [bind_call(">=", [value, low], span), bind_call("<=", [value, high], span)]
        return self._join("and", tests, span)

    def _in(self, node: exp.In) -> Expr:
        if node.args.get("query") is not None:
            return self._subquery(node)
        span = self.span(node)
        if isinstance(node.this, exp.Tuple):
            check_parts(3 * len(node.this.expressions) * len(node.expressions), span)
            rows = [self._rows("=", node, node.this, e) for e in node.expressions]
            return self._join("or", rows, span)
        value, *items = self.together([node.this, *node.expressions])
        # As in PostgreSQL, what reads no column has one type, that of a list; a column its own.
        fixed = [i for i, e in enumerate(items) if not columns_of(e)]
        if len(fixed) > 1:
            _, *listed = unify([value, *(items[i] for i in fixed)], "IN", span)
            for i, item in zip(fixed, listed, strict=True):
                items[i] = item
        if all(isinstance(e, Literal) for e in items):
            bound = unify([value, *items], "IN", span, compared_type)
            return Call(BOOLEAN, "in", tuple(bound), span=span)
        # An item that fails must not hide one that is equal: OR has that rule.
        tests = [bind_call("=", [value, e], span) for e in items]
        return self._join("or", tests, span)

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
            return self._subquery(node)
        if not node.expressions:
            text, hint = "an array of nothing has no type", "cast it, as in ARRAY[]::int[]"
            raise BindError("E0278", text, span=self.span(node), hint=hint)
        return bind_array(self, node)

    def _subscript(self, node: exp.Bracket) -> Expr:
        index = node.expressions[0]
        if not isinstance(index, exp.Slice):
            return picked(self.call("subscript", node, [node.this, index]))
        low = index.this or exp.Literal.number(1)
        high = index.expression or exp.Literal.number((1 << 31) - 1)
        return self.call("array_slice", node, [node.this, low, high])

    def _field(self, node: exp.Dot) -> Expr:
        operand, name = self.bind(node.this), folded(node.expression)
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

    def _subquery(self, node: exp.Expression) -> Expr:
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
            return bind_volatile(name, self.context.positions.of(node), self.span(node))
        if name not in REGISTRY:
            raise unknown_function(name, self.context.functions, self.span(node))
        return self.call(name, node, call.expressions)

    def without_sets(self) -> Binder:
        """Return a binder that refuses set-returning calls, for their own arguments."""
        return replace(self, sets=None)

    def without_calls(self) -> Binder:
        """Return a binder that refuses aggregate and window calls, for arguments of aggregates."""
        return Binder(self.scope, self.context)


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
    from floodmark.plan.bind.binder import Binder

    binder = Binder(scope, context, aggregates, windows, sets)
    return binder.bind(node) if target is None else binder.bind_as(node, target)


def bind_interval(node: exp.Expression, context: BindContext) -> Interval:
    """Return the constant (months, days, microseconds) of an interval expression."""
    from floodmark.plan.bind.coercion import coerce
    from floodmark.scalar.types import INTERVAL
    from floodmark.sql.spans import span_of

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
