"""WHERE: what stands alone as IN or EXISTS becomes a semi or anti join, the rest a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from floodmark.errors import BindError
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_condition, bind_scalar
from floodmark.plan.bind.calls import bind_call
from floodmark.plan.bind.collectors import SUBQUERY_COLUMN
from floodmark.plan.bind.scope import OUTER, OuterScope
from floodmark.plan.build.correlated_subqueries import (
    SubqueryRows,
    give_type,
    is_outer,
    rows_of,
    rows_of_exists,
    unmark_outer,
)
from floodmark.plan.build.joins import join_on
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.build.subqueries import Subqueries
from floodmark.plan.expr.conjunctions import all_of, conjunction, conjuncts
from floodmark.plan.expr.expressions import (
    BoolOp,
    Call,
    Cast,
    ColumnRef,
    Expr,
    columns_of,
    transform,
)
from floodmark.plan.nodes.columns import with_column
from floodmark.plan.rules.nullability import never_null
from floodmark.scalar.promotion import common_type
from floodmark.scalar.types import BOOLEAN

_SUBQUERY = (exp.Subquery, exp.Exists)
_COMPARISONS = ("=", "<", "<=", ">", ">=")


def filter_rows(
    builder: QueryBuilder, bound: BoundNode, where: exp.Expression
) -> tuple[BoundNode, list[Expr]]:
    """Apply a WHERE clause; return the conditions that read columns around the query, too."""
    parts = list(_conjuncts(where.this)) if where.find(*_SUBQUERY) else [where.this]
    node, rest = bound.node, list[Expr]()
    for part in parts:
        semi = _semi_of(part)
        if semi is not None:
            node = _semi_join(builder, BoundNode(node, bound.scope), semi)
            continue
        collector = Subqueries(builder, bound.scope)
        inner = builder.with_subqueries(collector.bind)
        expr = bind_condition(part, bound.scope, inner.context, "WHERE")
        if _is_dynamic(expr, collector, node):
            (attached,) = collector.joins
            node = join_on(node, attached.right, n.JoinKind.SEMI, expr, builder.span(part))
            continue
        node = collector.attach(node)
        rest += conjuncts(expr) if is_outer(expr) else [expr]
    own = [e for e in rest if not is_outer(e)]
    if own:
        predicate = conjunction(own)
        place = where.this if len(parts) == 1 else where
        predicate = replace(predicate, span=predicate.span or builder.span(place))
        node = n.Filter(node, predicate, span=builder.span(where))
    return BoundNode(node, bound.scope), [e for e in rest if is_outer(e)]


@dataclass(frozen=True, slots=True)
class _Semi:
    """A condition that an IN or EXISTS is, or is not; `tested` is what stands before IN."""

    place: exp.Expression
    query: exp.Expression
    tested: tuple[exp.Expression, ...]
    negated: bool


def _conjuncts(e: exp.Expression) -> Iterator[exp.Expression]:
    if isinstance(e, exp.And):
        yield from _conjuncts(e.this)
        yield from _conjuncts(e.expression)
    elif isinstance(e, exp.Paren) and isinstance(e.unnest(), exp.And):
        yield from _conjuncts(e.unnest())
    else:
        yield e


def _semi_of(e: exp.Expression, negated: bool = False) -> _Semi | None:
    match e:
        case exp.Paren():
            return _semi_of(e.this, negated)
        case exp.Not():
            return _semi_of(e.this, not negated)
        case exp.Exists():
            return _Semi(e, e.this, (), negated)
        case exp.In() if e.args.get("query") is not None:
            return _Semi(e, e.args["query"], _operands(e.this), negated)
        case exp.EQ(expression=exp.Any(this=inner)) if _is_query(inner):
            return _Semi(e, inner, _operands(e.this), negated)
        case exp.NEQ(expression=exp.All(this=inner)) if _is_query(inner):
            return _Semi(e, inner, _operands(e.this), not negated)
        case _:
            return None


def _is_query(e: exp.Expression) -> bool:
    return isinstance(e.unnest(), exp.Subquery | exp.Select | exp.SetOperation | exp.Values)


def _operands(e: exp.Expression) -> tuple[exp.Expression, ...]:
    inner = e.unnest()
    return tuple(inner.expressions) if isinstance(inner, exp.Tuple) else (e,)


def _semi_join(builder: QueryBuilder, bound: BoundNode, semi: _Semi) -> n.Node:
    if not semi.tested:
        related = rows_of_exists(builder, semi.query, bound.scope)
        kind = n.JoinKind.ANTI if semi.negated else n.JoinKind.SEMI
        return _reduce_rows(builder, bound.node, related, [], kind, semi.place)
    related = rows_of(builder, semi.query.unnest(), bound.scope)
    if len(related.values) != len(semi.tested):
        raise BindError(
            "E0296",
            "the subquery must return as many columns as the row before IN has: "
            f"{len(semi.tested)}, not {len(related.values)}",
            span=builder.span(semi.place),
            hint="write (a, b) IN (SELECT x, y …) for several",
        )
    own = bound.scope
    if own.outer is not None:
        own = replace(own, outer=OuterScope(own.outer.scope))
    node, tests = bound.node, list[Call]()
    for e, value in zip(semi.tested, related.values, strict=True):
        equal = bind_call(
            "=",
            [bind_scalar(e, own, builder.context), give_type(value)],
            builder.span(semi.place),
        )
        assert isinstance(equal, Call)
        node, name = with_column(node, equal.args[0])
        mine = ColumnRef(equal.args[0].type, OUTER + name)
        tests.append(replace(equal, args=(mine, equal.args[1])))
    if not semi.negated:
        return _reduce_rows(builder, node, related, tests, n.JoinKind.SEMI, semi.place)
    return _not_in(builder, node, related, tests, semi.place)


def _not_in(
    builder: QueryBuilder,
    node: n.Node,
    related: SubqueryRows,
    tests: Sequence[Call],
    place: exp.Expression,
) -> n.Node:
    """Keep the rows that differ for certain from all of the subquery's: a NULL is uncertain."""
    unsure = [t for t in tests if not _is_certain(node, related, t)]
    if len(tests) > 1 and unsure:
        equal = BoolOp(BOOLEAN, "and", tuple(tests))
        maybe = BoolOp(BOOLEAN, "or", (equal, _is_null(equal)))
        return _reduce_rows(builder, node, related, [maybe], n.JoinKind.ANTI, place)
    for test in unsure:
        mine, theirs = test.args
        if not never_null(theirs, related.node):
            nulls = related.where(_is_null(theirs))
            node = _reduce_rows(builder, node, nulls, [], n.JoinKind.ANTI, place)
        if not never_null(unmark_outer(mine, lambda e: e), node):
            node = _reduce_rows(builder, node, related, [_is_null(mine)], n.JoinKind.ANTI, place)
    return _reduce_rows(builder, node, related, tests, n.JoinKind.ANTI, place)


def _is_null(expr: Expr) -> Call:
    return Call(BOOLEAN, "is_null", (expr,))


def _reduce_rows(
    builder: QueryBuilder,
    node: n.Node,
    related: SubqueryRows,
    tests: Iterable[Expr],
    kind: n.JoinKind,
    place: exp.Expression,
) -> n.Node:
    """Return the rows that have a related row for which the tests hold, or have none."""
    conditions = [*related.conditions, *tests]
    read = {c for e in conditions for c in columns_of(e) if not c.startswith(OUTER)}
    columns = [f for f in related.node.schema if f.name in read] or [related.node.schema[0]]
    names = {f.name: f"{SUBQUERY_COLUMN}{next(builder.numbers)}" for f in columns}
    shown = tuple((names[f.name], ColumnRef(f.type, f.name)) for f in columns)
    right = n.Project(related.node, shown, span=builder.span(place))

    def rename(e: Expr) -> Expr:
        if isinstance(e, ColumnRef) and not e.name.startswith(OUTER):
            return replace(e, name=names[e.name])
        return e

    meet = [unmark_outer(transform(e, rename), lambda c: c) for e in conditions]
    return join_on(node, right, kind, all_of(meet), builder.span(place))


def _is_dynamic(expr: Expr, collector: Subqueries, node: n.Node) -> bool:
    """Tell whether a condition compares a column with the one row of a subquery.

    A semi join with that row then is the filter.
    """
    if len(collector.joins) != 1 or not isinstance(expr, Call):
        return False
    (attached,) = collector.joins
    if attached.conditions or attached.kind is not n.JoinKind.INNER:
        return False
    plain = expr.function in _COMPARISONS and all(
        isinstance(_uncast(a), ColumnRef) for a in expr.args
    )
    return plain and columns_of(expr) <= {*node.names, *attached.right.names}


def _uncast(expr: Expr) -> Expr:
    """Return what a conversion that never fails converts."""
    if isinstance(expr, Cast) and common_type((expr.operand.type, expr.type)) == expr.type:
        return expr.operand
    return expr


def _is_certain(node: n.Node, related: SubqueryRows, test: Call) -> bool:
    mine, theirs = test.args
    return never_null(theirs, related.node) and never_null(unmark_outer(mine, lambda e: e), node)
