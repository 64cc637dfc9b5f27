"""SELECT: WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_condition, bind_scalar
from floodmark.plan.bind.collectors import (
    AggregateCollector,
    SetCollector,
    WindowCollector,
)
from floodmark.plan.bind.scope import QueryScope
from floodmark.plan.bind.set_calls import zip_sets
from floodmark.plan.build.grouping import GroupedQuery, refuse_grouping_sets, rewrite_over_groups
from floodmark.plan.build.ordering import distinct_on, limit_rows
from floodmark.plan.build.outputs import (
    ColumnTypes,
    Item,
    item_at,
    position_of,
    same_output,
    visible_name,
)
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.build.stars import expand_star
from floodmark.plan.build.subqueries import Subqueries
from floodmark.plan.build.table_functions import ONE_ROW
from floodmark.plan.build.where import filter_rows
from floodmark.plan.build.window_functions import (
    add_windows,
    check_window_clause,
    collector_of,
    map_sites,
)
from floodmark.plan.expr.expressions import (
    Call,
    Case,
    Expr,
    Literal,
    columns_of,
    walk,
)
from floodmark.plan.nodes.columns import fresh_name
from floodmark.plan.nodes.size import check_columns
from floodmark.scalar.types import Kind


def select_rows(
    builder: QueryBuilder,
    query: exp.Select,
    bound: BoundNode | None,
    given: ColumnTypes | None = None,
) -> n.Node:
    """Return the plan of a SELECT over its FROM."""
    bound = bound or BoundNode(ONE_ROW, QueryScope())
    bound = replace(bound, scope=replace(bound.scope, outer=builder.outer))
    where = query.args.get("where")
    if where is not None:
        bound, _ = filter_rows(builder, bound, where)
    return SelectBody(builder, query, bound, given or ColumnTypes()).plan()


@dataclass
class SelectBody:
    """What follows FROM and WHERE in one SELECT."""

    builder: QueryBuilder
    query: exp.Select
    bound: BoundNode
    given: ColumnTypes

    def __post_init__(self) -> None:
        self.subqueries = Subqueries(self.builder, self.bound.scope)
        self.builder = self.builder.with_subqueries(self.subqueries.bind)

    def plan(self) -> n.Node:
        """Return the plan, ordered and limited."""
        refuse_grouping_sets(self.builder, self.query)
        collector = AggregateCollector()
        sets = SetCollector()
        windows = collector_of(self.query, self.builder.span)
        items = self._items(collector, sets, windows)
        check_window_clause(windows.named, self.bound.scope, self.builder.context)
        having = self.query.args.get("having")
        condition: Expr | None = None
        if having is not None:
            condition = bind_condition(
                having.this, self.bound.scope, self.builder.context, "HAVING", collector
            )
        order = self._order_items(items, collector, windows)
        on = self._distinct_on(items, collector, windows)
        node, sites = self.bound.node, windows.sites
        grouped = self.query.args.get("group") is not None or collector.calls or having is not None
        if grouped:
            read = _output_exprs(items, order, on, sets) + self.subqueries.reads()
            read += [e for _, site in sites for e in site.expressions]
            read += [] if condition is None else [condition]
            grouping = GroupedQuery(
                self.builder, self.query, self.bound, self.subqueries, collector
            )
            node, replaced = grouping.aggregate(node, items, read)
            over = partial(rewrite_over_groups, replaced=replaced, node=node)
            node = self.subqueries.attach(node, over)
            over = partial(rewrite_over_groups, replaced=replaced, node=node)
            items = [Item(i.name, over(i.expr)) for i in items]
            order = [(over(e), d, f) for e, d, f in order]
            on = [over(e) for e in on]
            if condition is not None:
                node = n.Filter(node, over(condition), span=self.builder.span(having))
            sets = SetCollector([(c, replace(s, call=over(s.call))) for c, s in sets.calls])
            sites = map_sites(sites, over)
        else:
            node = self.subqueries.attach(node)
        node = add_windows(node, sites, _output_exprs(items, order, on, sets))
        return self._finish(_repeat_rows(node, sets), items, order, on)

    def _items(
        self, collector: AggregateCollector, sets: SetCollector, windows: WindowCollector
    ) -> list[Item]:
        out: list[Item] = []
        taken: set[str] = set()
        for e in self.query.expressions:
            for name, expr in self._expand(e, collector, sets, windows):
                if expr.type.kind is Kind.UNKNOWN and isinstance(expr, Literal):
                    expr = self.given.give_type(len(out), expr)
                check_columns(len(out) + 1, self.builder.span(e))
                out.append(Item(fresh_name(name, taken), expr))
        return out

    def _expand(
        self,
        e: exp.Expression,
        collector: AggregateCollector,
        sets: SetCollector,
        windows: WindowCollector,
    ) -> list[tuple[str, Expr]]:
        span = self.builder.span(e)
        columns = expand_star(self.builder, e, self.bound.scope)
        if columns is not None:
            return [(item.name, item.expr) for item in columns]
        expr = bind_scalar(
            e.this if isinstance(e, exp.Alias) else e,
            self.bound.scope,
            self.builder.context,
            aggregates=collector,
            windows=windows,
            sets=sets,
        )
        _check_sets(expr, sets, span)
        return [(visible_name(e, span), expr)]

    def _distinct_on(
        self, items: list[Item], collector: AggregateCollector, windows: WindowCollector
    ) -> list[Expr]:
        distinct = self.query.args.get("distinct")
        on = None if distinct is None else distinct.args.get("on")
        if on is None:
            return []
        named = on.expressions if isinstance(on, exp.Tuple) else [on]
        return [self._order_key(e, items, collector, windows) for e in named]

    def _order_items(
        self, items: list[Item], collector: AggregateCollector, windows: WindowCollector
    ) -> list[tuple[Expr, bool, bool]]:
        order = self.query.args.get("order")
        if order is None:
            return []
        out = []
        for key in order.expressions:
            expr = self._order_key(key.this, items, collector, windows)
            out.append((expr, bool(key.args.get("desc")), bool(key.args.get("nulls_first"))))
        return out

    def _order_key(
        self,
        key: exp.Expression,
        items: list[Item],
        collector: AggregateCollector,
        windows: WindowCollector,
    ) -> Expr:
        """Return an ORDER BY key: an output's number or name, or an expression over FROM."""
        position = position_of(key)
        if position is not None:
            return item_at(items, position, self.builder.span(key)).expr
        if isinstance(key, exp.Column) and not key.table:
            named = [i for i in items if i.name == key.name]
            if named:
                return named[0].expr
        expr = bind_scalar(
            key, self.bound.scope, self.builder.context, aggregates=collector, windows=windows
        )
        same = same_output(expr, items)
        return expr if same is None else same.expr

    def _finish(
        self,
        node: n.Node,
        items: list[Item],
        order: list[tuple[Expr, bool, bool]],
        on: list[Expr],
    ) -> n.Node:
        columns: list[tuple[str, Expr]] = [(i.name, i.expr) for i in items]
        keys: dict[str, n.SortKey] = {}
        distinct = self.query.args.get("distinct")
        for expr, descending, nulls_first in order:
            name = _column(columns, expr, "__order")
            if distinct is not None and not on and len(columns) > len(items):
                raise self._order_error(expr)
            keys.setdefault(name, n.SortKey(name, descending, nulls_first))
        groups = [_column(columns, expr, "__on") for expr in on]
        out: n.Node = n.Project(node, tuple(columns), span=self.builder.span(self.query))
        out = self._distinct(out, groups, tuple(keys.values()))
        return limit_rows(self.builder, out, self.query, tuple(keys.values()))

    def _order_error(self, key: Expr) -> BindError:
        return BindError(
            "E0276",
            "for SELECT DISTINCT, ORDER BY expressions must appear in the select list",
            span=key.span or self.builder.span(self.query.args["order"]),
            hint="select it, too",
        )

    def _distinct(self, node: n.Node, on: list[str], keys: tuple[n.SortKey, ...]) -> n.Node:
        distinct = self.query.args.get("distinct")
        if distinct is None:
            return node
        span = self.builder.span(distinct)
        if on:
            return distinct_on(node, on, keys, span)
        names = tuple(f.name for f in node.schema if not is_hidden(f.name))
        return n.Aggregate(node, names, (), span=span)


def _output_exprs(
    items: list[Item], order: list[tuple[Expr, bool, bool]], on: list[Expr], sets: SetCollector
) -> list[Expr]:
    calls = (call.call for _, call in sets.calls)
    return [*(i.expr for i in items), *(e for e, _, _ in order), *on, *calls]


def _column(columns: list[tuple[str, Expr]], expr: Expr, prefix: str) -> str:
    """Return the column of an expression, added where there is none."""
    name = next((c for c, e in columns if e == expr), None)
    if name is None:
        name = fresh_name(prefix, {c for c, _ in columns})
        columns.append((name, expr))
    return name


def _repeat_rows(node: n.Node, sets: SetCollector) -> n.Node:
    """Return the rows, each repeated for the rows of the select list's set-returning calls."""
    if not sets.calls:
        return node
    outputs = tuple(name for name, _ in sets.calls)
    if len(outputs) == 1:
        ((_, one),) = sets.calls
        call, spread = one.call, one.unpacks and len(one.columns) == 1
    else:
        call, spread = zip_sets(sets.calls), True
    ordinal = fresh_name("__ordinal", set(node.names))
    return n.ProjectSet(node, call, outputs, ordinal, unpacks=spread, span=call.span)


def _check_sets(expr: Expr, sets: SetCollector, span: Span | None) -> None:
    """Refuse a set-returning call under a condition: it repeats the row whatever that says."""
    for part in walk(expr):
        lazy = isinstance(part, Case) or (isinstance(part, Call) and part.function == "coalesce")
        if lazy and columns_of(part) & sets.names:
            raise BindError(
                "E0289",
                "a function that returns a set of rows cannot stand in CASE or COALESCE",
                span=span,
                hint="write it in FROM, and the condition in the select list",
            )
