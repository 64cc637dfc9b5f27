"""GROUP BY of a SELECT, and its aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.collectors import OVER_COLUMN, SET_COLUMN, AggregateCollector
from floodmark.plan.build.outputs import Item, item_at, position_of, same_output
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.build.subqueries import Subqueries
from floodmark.plan.expr.expressions import (
    ColumnRef,
    Expr,
    columns_of,
    transform,
    walk,
    without_places,
)
from floodmark.plan.nodes.columns import fresh_name

_GROUPING_SETS = {exp.GroupingSets: "GROUPING SETS", exp.Rollup: "ROLLUP", exp.Cube: "CUBE"}


def refuse_grouping_sets(builder: QueryBuilder, query: exp.Select) -> None:
    """Raise E0339 for GROUPING SETS, ROLLUP and CUBE."""
    group = query.args.get("group")
    for element in () if group is None else group.expressions:
        for kind, word in _GROUPING_SETS.items():
            if isinstance(element, kind):
                raise builder.refuse(
                    "E0339",
                    f"{word} is not available yet",
                    element,
                    hint="write one SELECT per grouping, with NULL for what it leaves out, and "
                    "UNION ALL them",
                )


@dataclass(frozen=True, slots=True)
class GroupedQuery:
    """What makes the groups of one SELECT; `collector` has the aggregates over them."""

    builder: QueryBuilder
    query: exp.Select
    bound: BoundNode
    subqueries: Subqueries
    collector: AggregateCollector

    def aggregate(
        self,
        node: n.Node,
        items: list[Item],
        above: Sequence[Expr],
    ) -> tuple[n.Node, Mapping[Expr, ColumnRef]]:
        """Return the aggregate, and the column that replaces each group expression above it."""
        keys = self._keys(items)
        grouped = {key.name for key, _ in keys if isinstance(key, ColumnRef)}
        stray = {name for e in above for name in columns_of(e)} - grouped
        settled = [c for c in self.bound.scope.columns_by_key(grouped) if c.plan_name in stray]
        keys += [(ColumnRef(c.type, c.plan_name), c.name) for c in settled]
        read = _reads(self.collector) | {c for key, _ in keys for c in columns_of(key)}
        node = self.subqueries.attach(node, only=read)
        columns = list(node.identity)
        replaced: dict[Expr, ColumnRef] = {}
        taken = set(node.names) | {name for name, _ in self.collector.calls}
        names: list[str] = []
        for key, wanted in keys:
            if columns_of(key) - set(node.names):
                raise _not_in_group(key, self.collector)
            if isinstance(key, ColumnRef):
                name = key.name
            else:
                name = fresh_name(wanted, taken)
                columns.append((name, key))
            replaced[without_places(key)] = ColumnRef(key.type, name)
            if name not in names:
                names.append(name)
        needed = set(names) | _reads(self.collector)
        kept = [(c, e) for c, e in columns if c in needed] or columns[:1]
        below = n.Project(node, tuple(kept)) if _computes(kept) else node
        span = self.builder.span(self.query.args.get("group")) or self.builder.span(self.query)
        calls = tuple(self.collector.calls)
        return n.Aggregate(below, tuple(names), calls, span=span), replaced

    def _keys(self, items: list[Item]) -> list[tuple[Expr, str]]:
        group = self.query.args.get("group")
        if group is None:
            return []
        rows = (e.expressions if isinstance(e, exp.Tuple) else [e] for e in group.expressions)
        return [self._key(e, items) for row in rows for e in row]

    def _key(self, e: exp.Expression, items: list[Item]) -> tuple[Expr, str]:
        position = position_of(e)
        if position is not None:
            item = item_at(items, position, self.builder.span(e))
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
        same = same_output(expr, items)
        return (expr, "__group") if same is None else (same.expr, same.name)


def rewrite_over_groups(expr: Expr, replaced: Mapping[Expr, ColumnRef], node: n.Node) -> Expr:
    """Return the expression over the aggregate's output; E0217 for a column that is not."""
    out = transform(expr, lambda e: replaced.get(without_places(e), e))
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


def _not_in_group(key: Expr, collector: AggregateCollector) -> BindError:
    if columns_of(key) & {name for name, _ in collector.calls}:
        return BindError(
            "E0273",
            "an aggregate cannot stand in GROUP BY",
            span=key.span,
            hint="group by its argument, or group in a query around this one",
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
