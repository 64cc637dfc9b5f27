"""The rows of a subquery, and how they belong to the rows of the query around it.

A subquery may name columns of the query around it in its own WHERE (`OUTER`). Equalities there
become the keys that join its rows with the outer rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.collectors import AggregateCollector
from floodmark.plan.bind.scope import OUTER, CorrelationError, OuterScope, QueryScope
from floodmark.plan.build.parentheses import without_parentheses
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.build.relations import build_from_clause
from floodmark.plan.build.stars import expand_star
from floodmark.plan.build.table_functions import ONE_ROW
from floodmark.plan.expr.expressions import ColumnRef, Expr, Literal, columns_of, transform
from floodmark.scalar.types import VARCHAR, Kind

_CLAUSES = {"group": "GROUP BY", "order": "ORDER BY", "windows": "WINDOW"}
SHAPES = ("group", "having", "distinct", "limit", "offset", "windows", "order")
_COMPUTED = (exp.Anonymous, exp.Window, exp.Filter, exp.Subquery, exp.Exists)


@dataclass(frozen=True, slots=True)
class SubqueryRows:
    """The rows of a subquery: its columns over a node, and the conditions by which they belong.

    A condition reads the node's columns and, under `OUTER` names, those of the query around it.
    """

    node: n.Node
    values: tuple[Expr, ...] = ()
    conditions: tuple[Expr, ...] = ()

    def where(self, condition: Expr) -> SubqueryRows:
        """Return the rows for which a condition over the node is TRUE."""
        return replace(self, node=n.Filter(self.node, condition))


def rows_of(builder: QueryBuilder, query: exp.Expression, scope: QueryScope) -> SubqueryRows:
    """Return a subquery's rows; E0325 and E0326 for one that reads outer columns elsewhere."""
    inner = builder.inside(scope)
    query = without_parentheses(query)
    try:
        node = inner.query(query)
    except CorrelationError:
        if not isinstance(query, exp.Select):
            raise
        bound, conditions = build_correlated(inner, query, scope)
        refuse_shapes(inner, query, ("group", "having", "limit", "offset", "windows"))
        values = tuple(values_of(inner, query, bound))
        return SubqueryRows(bound.node, values, tuple(conditions))
    shown = [f for f in node.schema if not is_hidden(f.name)]
    return SubqueryRows(node, tuple(ColumnRef(f.type, f.name) for f in shown))


def rows_of_exists(builder: QueryBuilder, query: exp.Expression, scope: QueryScope) -> SubqueryRows:
    """Return the rows of a subquery of which only the existence counts."""
    query = without_parentheses(query)
    if not isinstance(query, exp.Select) or not _keeps_row_count(query):
        return rows_of(builder, query, scope)
    bound, conditions = build_correlated(builder.inside(scope), query, scope)
    return SubqueryRows(bound.node, (), tuple(conditions))


def _keeps_row_count(query: exp.Select) -> bool:
    """Tell whether a SELECT has a row where FROM and WHERE have one."""
    shaped = any(query.args.get(shape) for shape in ("group", "having", "offset"))
    limit = query.args.get("limit")
    some = limit is None or (
        isinstance(limit.expression, exp.Literal) and limit.expression.this != "0"
    )
    return some and not shaped and not any(e.find(*_COMPUTED) for e in query.expressions)


def build_correlated(
    builder: QueryBuilder, query: exp.Select, scope: QueryScope
) -> tuple[BoundNode, list[Expr]]:
    """Return FROM and WHERE of a subquery, and the conditions that read outer columns."""
    inner = builder.with_ctes(query)
    bound = build_from_clause(inner, query) or BoundNode(ONE_ROW, QueryScope())
    bound = replace(bound, scope=replace(bound.scope, outer=OuterScope(scope, allowed=True)))
    where = query.args.get("where")
    conditions: list[Expr] = []
    if where is not None:
        bound, conditions = inner.filter(bound, where)
    return BoundNode(bound.node, replace(bound.scope, outer=OuterScope(scope))), conditions


def values_of(
    builder: QueryBuilder,
    query: exp.Select,
    bound: BoundNode,
    collector: AggregateCollector | None = None,
) -> Iterable[Expr]:
    """Return the select list; an aggregate without a collector makes one row of many."""
    calls = AggregateCollector() if collector is None else collector
    for e in query.expressions:
        columns = expand_star(builder, e, bound.scope)
        if columns is not None:
            yield from (item.expr for item in columns)
        else:
            inner = e.this if isinstance(e, exp.Alias) else e
            yield bind_scalar(inner, bound.scope, builder.context, aggregates=calls)
    if collector is None and calls.calls:
        raise refusal(builder, query, "an aggregate over rows that belong to an outer row")


def refuse_shapes(builder: QueryBuilder, query: exp.Select, shapes: Sequence[str]) -> None:
    """Raise E0326 for the first of these clauses that a subquery has."""
    for shape in shapes:
        if query.args.get(shape):
            clause = _CLAUSES.get(shape, shape.upper())
            raise refusal(builder, query.args[shape], f"{clause} of such a subquery")


def refusal(
    builder: QueryBuilder, place: exp.Expression | list[exp.Expression], what: str
) -> NotSupported:
    """Return the refusal of what a subquery that depends on the row cannot have yet."""
    node = place[0] if isinstance(place, list) else place
    return builder.refuse(
        "E0326",
        f"a subquery that reads columns of the query around it: {what} is not available yet",
        node,
        hint="compute it in a view of its own, grouped by the compared columns, and join with that",
    )


def one_value(builder: QueryBuilder, values: Sequence[Expr], place: exp.Expression) -> Expr:
    """Return the one column of a subquery; several are E0296."""
    if len(values) != 1:
        raise BindError(
            "E0296",
            f"the subquery must return one column here, not {len(values)}",
            span=builder.span(place),
            hint="name the one column in its SELECT list",
        )
    return give_type(values[0])


def give_type(value: Expr) -> Expr:
    """Return a literal without a type as a text."""
    if isinstance(value, Literal) and value.type.kind is Kind.UNKNOWN:
        return replace(value, type=VARCHAR)
    return value


def mark_outer(expr: Expr) -> Expr:
    """Return an expression over the rows around a subquery as one inside of it."""
    return transform(expr, _mark_outer)


def _mark_outer(e: Expr) -> Expr:
    return replace(e, name=OUTER + e.name) if isinstance(e, ColumnRef) else e


def unmark_outer(condition: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return a condition with its outer columns under their own names, changed."""

    def restore_name(e: Expr) -> Expr:
        if isinstance(e, ColumnRef) and e.name.startswith(OUTER):
            return change(replace(e, name=e.name.removeprefix(OUTER)))
        return e

    return transform(condition, restore_name)


def is_outer(expr: Expr) -> bool:
    """Tell whether an expression reads a column of the query around it."""
    return any(name.startswith(OUTER) for name in columns_of(expr))
