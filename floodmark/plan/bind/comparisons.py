"""Comparisons: of rows, with a list or range of values, and with NULL and truth values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.calls import bind_call
from floodmark.plan.bind.coercion import coerce, refuse, unify
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.expr.expressions import BoolOp, Call, Expr, Literal, columns_of
from floodmark.plan.expr.size import check_parts
from floodmark.scalar.promotion import comparison_type
from floodmark.scalar.types import BOOLEAN, VARCHAR, Kind

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


def combine(op: str, tests: Sequence[Expr], span: Span | None) -> Expr:
    """Return tests joined by AND or OR; one alone as it is."""
    return tests[0] if len(tests) == 1 else BoolOp(BOOLEAN, op, tuple(tests), span=span)


def bind_operator(binder: ExpressionBinder, name: str, node: exp.Expression) -> Expr:
    """Return an operator between two values, rows, or a value and ANY or ALL of a list."""
    left, right = node.this, node.args["expression"]
    if isinstance(right, exp.Any | exp.All):
        return _bind_quantified(binder, name, node, right)
    if name in _COMPARISONS and isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
        return _rows(binder, name, node, left, right)
    return binder.call(name, node, [left, right])


def _rows(
    binder: ExpressionBinder, name: str, node: exp.Expression, left: exp.Tuple, right: exp.Tuple
) -> Expr:
    span = binder.span(node)
    if len(left.expressions) != len(right.expressions):
        raise BindError(
            "E0265",
            "the two rows have different numbers of values",
            span=span,
            hint="write as many values on both sides",
        )
    if name not in ("=", "<>"):
        raise refuse(
            "rows can be compared with = and <> only",
            span,
            hint="compare the values one by one: a < c OR (a = c AND b < d)",
        )
    pairs = zip(left.expressions, right.expressions, strict=True)
    tests = [bind_call("=", [binder.bind(a), binder.bind(b)], span) for a, b in pairs]
    equal = combine("and", tests, span)
    return equal if name == "=" else Call(BOOLEAN, "not", (equal,), span=span)


def _bind_quantified(
    binder: ExpressionBinder, name: str, node: exp.Expression, right: exp.Expression
) -> Expr:
    inner = right.this.this if isinstance(right.this, exp.Paren) else right.this
    if isinstance(inner, exp.Subquery):
        return binder.subquery(node)
    span = binder.span(node)
    if not isinstance(inner, exp.Array):
        if name == "=" and isinstance(right, exp.Any):
            return bind_call("any_equal", [binder.bind(node.this), binder.bind(inner)], span)
        raise refuse(
            "ANY and ALL need = or a list in ARRAY[…]",
            span,
            hint="write x = ANY (ARRAY[…]), or compare with min(…) or max(…) of a subquery",
        )
    check_parts(3 * len(inner.expressions), span)
    value = binder.bind(node.this)
    tests = [bind_call(name, [value, binder.bind(e)], span) for e in inner.expressions]
    if not tests:
        return Literal(BOOLEAN, isinstance(right, exp.All), span=span)
    return combine("or" if isinstance(right, exp.Any) else "and", tests, span)


def bind_between(binder: ExpressionBinder, node: exp.Between) -> Expr:
    """Return `x BETWEEN a AND b`, which has x twice."""
    span = binder.span(node)
    value, low, high = binder.together([node.args[k] for k in ("this", "low", "high")])
    if node.args.get("symmetric"):
        low, high = (bind_call(n, [low, high], span) for n in ("least", "greatest"))
    tests = [bind_call(">=", [value, low], span), bind_call("<=", [value, high], span)]
    return combine("and", tests, span)


def bind_in(binder: ExpressionBinder, node: exp.In) -> Expr:
    """Return `x IN (…)`: with constants one call, else an OR of equalities."""
    if node.args.get("query") is not None:
        return binder.subquery(node)
    span = binder.span(node)
    if isinstance(node.this, exp.Tuple):
        check_parts(3 * len(node.this.expressions) * len(node.expressions), span)
        rows = [_rows(binder, "=", node, node.this, e) for e in node.expressions]
        return combine("or", rows, span)
    value, *items = binder.together([node.this, *node.expressions])
    # As in PostgreSQL, what reads no column has one type, that of a list; a column its own.
    fixed = [i for i, e in enumerate(items) if not columns_of(e)]
    if len(fixed) > 1:
        _, *listed = unify([value, *(items[i] for i in fixed)], "IN", span)
        for i, item in zip(fixed, listed, strict=True):
            items[i] = item
    if all(isinstance(e, Literal) for e in items):
        bound = unify([value, *items], "IN", span, comparison_type)
        return Call(BOOLEAN, "in", tuple(bound), span=span)
    # An item that fails must not hide one that is equal: OR has that rule.
    return combine("or", [bind_call("=", [value, e], span) for e in items], span)


def bind_not(binder: ExpressionBinder, node: exp.Not) -> Expr:
    """Return a negation; IS NOT is a test of its own."""
    span, inner = binder.span(node), node.this
    if isinstance(inner, exp.Is):
        positive = bind_is(binder, inner)
        return replace(positive, function=positive.function.replace("is_", "is_not_"), span=span)
    return Call(BOOLEAN, "not", (binder.condition(inner, "NOT"),), span=span)


def bind_is(binder: ExpressionBinder, node: exp.Is) -> Call:
    """Return `x IS NULL`, `x IS TRUE` or `x IS FALSE`."""
    span = binder.span(node)
    match node.expression:
        case exp.Null():
            operand = binder.bind(node.this)
            typed = coerce(operand, VARCHAR) if operand.type.kind is Kind.UNKNOWN else operand
            return Call(BOOLEAN, "is_null", (typed,), span=span)
        case exp.Boolean() as truth:
            word = "is_true" if truth.this else "is_false"
            return Call(BOOLEAN, word, (binder.condition(node.this, "IS"),), span=span)
        case _:
            raise refuse(
                "IS knows NULL, TRUE, FALSE, UNKNOWN and DISTINCT FROM",
                span,
                hint="compare with = for another value",
            )
