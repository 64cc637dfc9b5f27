"""SELECT: WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_condition, bind_scalar
from floodmark.plan.bind.collectors import (
    OVER_COLUMN,
    SET_COLUMN,
    AggregateCollector,
    SetCollector,
    WindowCollector,
)
from floodmark.plan.bind.outputs import ColumnTypes, Item, checked_name, position_of, said
from floodmark.plan.bind.scope import QueryScope
from floodmark.plan.bind.set_calls import in_step
from floodmark.plan.build.ordering import distinct_on, limited
from floodmark.plan.build.protocol import Bound, QueryBuilder
from floodmark.plan.build.stars import starred
from floodmark.plan.build.subqueries import Subqueries
from floodmark.plan.build.table_functions import ONE_ROW
from floodmark.plan.build.where import filtered
from floodmark.plan.build.window_functions import check_named, collector_of, rewritten, windowed
from floodmark.plan.expr.expressions import (
    Call,
    Case,
    ColumnRef,
    Expr,
    Literal,
    columns_of,
    transform,
    unplaced,
    walk,
)
from floodmark.plan.nodes.columns import fresh_name
from floodmark.plan.nodes.size import check_columns
from floodmark.scalar.types import Kind

_GROUPING_SETS = {exp.GroupingSets: "GROUPING SETS", exp.Rollup: "ROLLUP", exp.Cube: "CUBE"}


def select_rows(
    builder: QueryBuilder, query: exp.Select, bound: Bound | None, given: ColumnTypes | None = None
) -> n.Node:
    """Return the plan of a SELECT over its FROM."""
    bound = bound or Bound(ONE_ROW, QueryScope())
    bound = replace(bound, scope=replace(bound.scope, outer=builder.outer))
    where = query.args.get("where")
    if where is not None:
        bound, _ = filtered(builder, bound, where)
    return Selection(builder, query, bound, given or ColumnTypes()).plan()


@dataclass
class Selection:
    """What follows FROM and WHERE in one SELECT."""

    builder: QueryBuilder
    query: exp.Select
    bound: Bound
    given: ColumnTypes

    def __post_init__(self) -> None:
        self.subqueries = Subqueries(self.builder, self.bound.scope)
        self.builder = self.builder.with_subqueries(self.subqueries.bind)

    def plan(self) -> n.Node:
        """Return the plan, ordered and limited."""
        self._refuse_grouping_sets()
        collector = AggregateCollector()
        sets = SetCollector()
        windows = collector_of(self.query, self.builder.span)
        items = self._items(collector, sets, windows)
        check_named(windows.named, self.bound.scope, self.builder.context)
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
            read = _above(items, order, on, sets) + self.subqueries.reads()
            read += [e for _, site in sites for e in site.expressions]
            read += [] if condition is None else [condition]
            node, replaced = self._aggregate(node, collector, items, read)
            over = partial(self._over_groups, replaced=replaced, node=node)
            node = self.subqueries.beside(node, over)
            over = partial(self._over_groups, replaced=replaced, node=node)
            items = [Item(i.name, over(i.expr)) for i in items]
            order = [(over(e), d, f) for e, d, f in order]
            on = [over(e) for e in on]
            if condition is not None:
                node = n.Filter(node, over(condition), span=self.builder.span(having))
            sets = SetCollector([(c, replace(s, call=over(s.call))) for c, s in sets.calls])
            sites = rewritten(sites, over)
        else:
            node = self.subqueries.beside(node)
        node = windowed(node, sites, _above(items, order, on, sets))
        return self._finish(_repeated(node, sets), items, order, on)

    def _items(
        self, collector: AggregateCollector, sets: SetCollector, windows: WindowCollector
    ) -> list[Item]:
        out: list[Item] = []
        taken: set[str] = set()
        for e in self.query.expressions:
            for name, expr in self._expand(e, collector, sets, windows):
                if expr.type.kind is Kind.UNKNOWN and isinstance(expr, Literal):
                    expr = self.given.typed(len(out), expr)
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
        columns = starred(self.builder, e, self.bound.scope)
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
        return [(checked_name(e, span), expr)]

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
            return self._at(position, key, items).expr
        if isinstance(key, exp.Column) and not key.table:
            named = [i for i in items if i.name == key.name]
            if named:
                return named[0].expr
        expr = bind_scalar(
            key, self.bound.scope, self.builder.context, aggregates=collector, windows=windows
        )
        same = said(expr, items)
        return expr if same is None else same.expr

    def _at(self, position: int, key: exp.Expression, items: list[Item]) -> Item:
        """Return the output of a number; E0216 for one that there is not."""
        if 1 <= position <= len(items):
            return items[position - 1]
        raise BindError(
            "E0216",
            f"position {position} is not in the select list",
            span=self.builder.span(key),
            hint=f"it has {len(items)} columns",
        )

    def _aggregate(
        self,
        node: n.Node,
        collector: AggregateCollector,
        items: list[Item],
        above: Sequence[Expr],
    ) -> tuple[n.Node, Mapping[Expr, ColumnRef]]:
        """Return the aggregate, and what stands for each group expression above it."""
        keys = self._group_keys(items)
        grouped = {key.name for key, _ in keys if isinstance(key, ColumnRef)}
        stray = {name for e in above for name in columns_of(e)} - grouped
        settled = [c for c in self.bound.scope.settled_by(grouped) if c.plan_name in stray]
        keys += [(ColumnRef(c.type, c.plan_name), c.name) for c in settled]
        read = _reads(collector) | {c for key, _ in keys for c in columns_of(key)}
        node = self.subqueries.beside(node, only=read)
        columns = list(node.identity)
        replaced: dict[Expr, ColumnRef] = {}
        taken = set(node.names) | {name for name, _ in collector.calls}
        names: list[str] = []
        for key, wanted in keys:
            if columns_of(key) - set(node.names):
                raise _not_in_group(key, collector)
            if isinstance(key, ColumnRef):
                name = key.name
            else:
                name = fresh_name(wanted, taken)
                columns.append((name, key))
            replaced[unplaced(key)] = ColumnRef(key.type, name)
            if name not in names:
                names.append(name)
        needed = set(names) | _reads(collector)
        kept = [(c, e) for c, e in columns if c in needed] or columns[:1]
        below = n.Project(node, tuple(kept)) if _computes(kept) else node
        return self._aggregate_node(below, tuple(names), collector), replaced

    def _aggregate_node(
        self, below: n.Node, names: tuple[str, ...], collector: AggregateCollector
    ) -> n.Node:
        span = self.builder.span(self.query.args.get("group")) or self.builder.span(self.query)
        return n.Aggregate(below, names, tuple(collector.calls), span=span)

    def _group_keys(self, items: list[Item]) -> list[tuple[Expr, str]]:
        group = self.query.args.get("group")
        if group is None:
            return []
        rows = (e.expressions if isinstance(e, exp.Tuple) else [e] for e in group.expressions)
        return [self._group_key(e, items) for row in rows for e in row]

    def _refuse_grouping_sets(self) -> None:
        group = self.query.args.get("group")
        for element in () if group is None else group.expressions:
            for kind, word in _GROUPING_SETS.items():
                if isinstance(element, kind):
                    raise self.builder.refuse(
                        "E0339",
                        f"{word} is not available yet",
                        element,
                        hint="write one SELECT per grouping, with NULL for what it leaves out, and "
                        "UNION ALL them",
                    )

    def _group_key(self, e: exp.Expression, items: list[Item]) -> tuple[Expr, str]:
        position = position_of(e)
        if position is not None:
            item = self._at(position, e, items)
            return item.expr, item.name
        if isinstance(e, exp.Column) and not e.table:
            # A name is the query's own column, else its own output, else one of a query around it.
            named = [i for i in items if i.name == e.name]
            scope = replace(self.bound.scope, outer=None) if named else self.bound.scope
            try:
                return bind_scalar(e, scope, self.builder.context), e.name
            except BindError as error:
                if not named or error.code != "E0206":
                    raise
                return named[0].expr, named[0].name
        expr = bind_scalar(e, self.bound.scope, self.builder.context)
        same = said(expr, items)
        return (expr, "__group") if same is None else (same.expr, same.name)

    def _over_groups(self, expr: Expr, replaced: Mapping[Expr, ColumnRef], node: n.Node) -> Expr:
        """Return the expression over the aggregate's output; E0217 for a column that is not."""
        out = transform(expr, lambda e: replaced.get(unplaced(e), e))
        made = (SET_COLUMN, OVER_COLUMN)
        stray = {c for c in columns_of(out) - set(node.names) if not c.startswith(made)}
        if stray:
            name = sorted(stray)[0]
            raise BindError(
                "E0217",
                f'column "{name}" must appear in the GROUP BY clause or be used in an aggregate '
                "function",
                span=_place_of(expr, name) or expr.span,
                hint=f"GROUP BY {name}, or an aggregate such as max({name})",
            )
        return out

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
                raise self._unordered(expr)
            keys.setdefault(name, n.SortKey(name, descending, nulls_first))
        groups = [_column(columns, expr, "__on") for expr in on]
        out: n.Node = n.Project(node, tuple(columns), span=self.builder.span(self.query))
        out = self._distinct(out, groups, tuple(keys.values()))
        return limited(self.builder, out, self.query, tuple(keys.values()))

    def _unordered(self, key: Expr) -> BindError:
        return BindError(
            "E0276",
            "with SELECT DISTINCT, what ORDER BY names must be in the select list",
            span=key.span or self.builder.span(self.query.args["order"]),
            hint="select it, too: rows that DISTINCT makes one have no other order",
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


def _above(
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


def _repeated(node: n.Node, sets: SetCollector) -> n.Node:
    """Return the rows, each repeated for the rows of the select list's set-returning calls."""
    if not sets.calls:
        return node
    outputs = tuple(name for name, _ in sets.calls)
    if len(outputs) == 1:
        ((_, one),) = sets.calls
        call, spread = one.call, one.spread and len(one.columns) == 1
    else:
        call, spread = in_step(sets.calls), True
    ordinal = fresh_name("__ordinal", set(node.names))
    return n.ProjectSet(node, call, outputs, ordinal, spread=spread, span=call.span)


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


def _not_in_group(key: Expr, collector: AggregateCollector) -> BindError:
    if columns_of(key) & {name for name, _ in collector.calls}:
        return BindError(
            "E0273",
            "an aggregate cannot stand in GROUP BY",
            span=key.span,
            hint="group by what it aggregates, or in a query around this one",
        )
    return BindError(
        "E0289",
        "a function that returns a set of rows cannot stand in GROUP BY",
        span=key.span,
        hint="write it in FROM: GROUP BY takes its column",
    )


def _reads(collector: AggregateCollector) -> set[str]:
    calls = [call for _, call in collector.calls]
    return {name for call in calls for e in call.children for name in columns_of(e)}


def _computes(columns: Sequence[tuple[str, Expr]]) -> bool:
    return any(not isinstance(e, ColumnRef) for _, e in columns)


def _place_of(expr: Expr, name: str) -> Span | None:
    return next((e.span for e in walk(expr) if isinstance(e, ColumnRef) and e.name == name), None)
