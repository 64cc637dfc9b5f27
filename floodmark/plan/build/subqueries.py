"""Subqueries that stand for a value: each becomes a join with what it returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.calls import bind_call
from floodmark.plan.bind.collectors import SUBQUERY_COLUMN, AggregateCollector
from floodmark.plan.bind.scope import OUTER, CorrelationError, QueryScope
from floodmark.plan.build.correlated_subqueries import (
    SHAPES,
    SubqueryRows,
    build_correlated,
    is_outer,
    mark_outer,
    one_value,
    refusal,
    refuse_shapes,
    rows_of,
    rows_of_exists,
    unmark_outer,
    values_of,
)
from floodmark.plan.build.joins import join_on
from floodmark.plan.build.parentheses import without_parentheses
from floodmark.plan.build.protocol import QueryBuilder
from floodmark.plan.expr.conjunctions import all_of
from floodmark.plan.expr.expressions import (
    AggCall,
    BoolOp,
    Call,
    Case,
    ColumnRef,
    Expr,
    Literal,
    columns_of,
    transform,
)
from floodmark.plan.nodes.columns import with_column
from floodmark.scalar.functions import AGGREGATES, aggregate_overload
from floodmark.scalar.functions.single_row import SINGLE_ROW
from floodmark.scalar.types import BIGINT, BOOLEAN


@dataclass(frozen=True, slots=True)
class SubqueryJoin:
    """What stands for one subquery beside the rows around it; at most one row for each of them."""

    right: n.Node
    kind: n.JoinKind
    conditions: tuple[Expr, ...] = ()


def _same(expr: Expr) -> Expr:
    return expr


@dataclass
class Subqueries:
    """Binds the subqueries of expressions over one FROM; each adds a join beside its rows."""

    builder: QueryBuilder
    scope: QueryScope
    joins: list[SubqueryJoin] = field(default_factory=list)

    def bind(self, node: exp.Expression) -> Expr:
        """Return what stands for a subquery in an expression."""
        match node:
            case exp.Exists():
                related = rows_of_exists(self.builder, node.this, self.scope)
                return self._mark(node, related)
            case exp.In():
                return self._is_in(node)
            case exp.Subquery():
                return self._scalar(node)
            case _:
                raise self._place_error(node)

    def _place_error(self, node: exp.Expression) -> NotSupported:
        return self.builder.refuse(
            "E0327",
            "a subquery cannot stand here",
            node,
            hint="IN, EXISTS and a single value can, such as (SELECT max(y) FROM t) for > ALL and "
            "min(y) for > ANY",
        )

    def attach(
        self,
        node: n.Node,
        change: Callable[[Expr], Expr] = _same,
        only: Collection[str] | None = None,
    ) -> n.Node:
        """Return the rows with the columns of the subqueries; of those that are read by `only`.

        `change` makes an expression over FROM one over the rows.
        """
        for attached in list(self.joins):
            if only is not None and not {*only} & {*attached.right.names}:
                continue
            self.joins.remove(attached)
            conditions = [unmark_outer(c, change) for c in attached.conditions]
            node = join_on(node, attached.right, attached.kind, all_of(conditions), None)
        return node

    def reads(self) -> list[Expr]:
        """Return the conditions that join the subqueries, over columns of FROM and their own."""
        return [unmark_outer(c, _same) for attached in self.joins for c in attached.conditions]

    def name(self) -> str:
        """Return a name that no other subquery's column has."""
        return f"{SUBQUERY_COLUMN}{next(self.builder.numbers)}"

    def _add(self, right: n.Node, kind: n.JoinKind, conditions: Iterable[Expr] = ()) -> None:
        self.joins.append(SubqueryJoin(right, kind, tuple(conditions)))

    def _scalar(self, node: exp.Subquery) -> Expr:
        query = without_parentheses(node)
        inner = self.builder.inside(self.scope)
        try:
            below = inner.query(query)
        except CorrelationError:
            if not isinstance(query, exp.Select):
                raise
            return self._join_scalar(inner, query)
        shown = [f for f in below.schema if not is_hidden(f.name)]
        value = one_value(self.builder, [ColumnRef(f.type, f.name) for f in shown], node)
        name = self.name()
        right = n.Project(below, ((name, value),), span=self.builder.span(node))
        if not _yields_one_row(below):
            return self._only(right, (), value, name, n.JoinKind.INNER, ())
        always = not isinstance(_skip_projections(below), n.Filter)
        self._add(right, n.JoinKind.INNER if always else n.JoinKind.LEFT)
        return ColumnRef(value.type, name, span=self.builder.span(node))

    def _join_scalar(self, inner: QueryBuilder, query: exp.Select) -> Expr:
        bound, conditions = build_correlated(inner, query, self.scope)
        refuse_shapes(inner, query, [s for s in SHAPES if s != "order"])
        collector = AggregateCollector()
        values = list(values_of(inner, query, bound, collector))
        value = one_value(self.builder, values, query)
        below, keys, equal = self._add_keys(bound.node, conditions, query)
        names = {key: self.name() for key in dict.fromkeys(keys)}
        tests = [_rename_inner(e, names) for e in equal]
        if not collector.calls:
            below, column = with_column(below, value)
            columns = [*((names[k], below.field(k).type, k) for k in names)]
            value_name = self.name()
            shown = [(c, ColumnRef(t, k)) for c, t, k in columns]
            shown.append((value_name, ColumnRef(value.type, column)))
            right = n.Project(below, tuple(shown), span=self.builder.span(query))
            group = tuple(names.values())
            return self._only(right, group, value, value_name, n.JoinKind.LEFT, tests)
        span = self.builder.span(query)
        groups = n.Aggregate(below, tuple(names), tuple(collector.calls), span=span)
        return self._read_groups(groups, names, collector.calls, value, tests, query)

    def _read_groups(
        self,
        groups: n.Aggregate,
        keys: dict[str, str],
        calls: Sequence[tuple[str, AggCall]],
        value: Expr,
        tests: list[Expr],
        query: exp.Select,
    ) -> Expr:
        names = {name: self.name() for name, _ in calls}
        stray = columns_of(value) - set(names)
        if stray:
            raise refusal(self.builder, query, f"{sorted(stray)[0]} outside of an aggregate")
        fields = {f.name: f for f in groups.schema}
        renamed = {**keys, **names}
        shown = tuple((new, ColumnRef(fields[old].type, old)) for old, new in renamed.items())
        self._add(n.Project(groups, shown), n.JoinKind.LEFT, tests)
        empty = {name: _value_of_no_rows(call) for name, call in calls}

        def with_empty(e: Expr) -> Expr:
            if not isinstance(e, ColumnRef):
                return e
            column, nothing = ColumnRef(e.type, names[e.name]), empty[e.name]
            return column if nothing is None else Call(e.type, "coalesce", (column, nothing))

        return transform(value, with_empty)

    def _only(
        self,
        right: n.Node,
        group: tuple[str, ...],
        value: Expr,
        name: str,
        kind: n.JoinKind,
        tests: Iterable[Expr],
    ) -> Expr:
        """Attach the one value of each group; several are an error of the rows that read it."""
        one, rows = self.name(), self.name()
        largest = AggCall("max", (ColumnRef(value.type, name),), value.type)
        calls = ((one, largest), (rows, AggCall("count", (), BIGINT)))
        self._add(n.Aggregate(right, group, calls, span=right.span), kind, tests)
        found = (ColumnRef(value.type, one), ColumnRef(BIGINT, rows))
        return bind_call(SINGLE_ROW, found, right.span)

    def _mark(self, node: exp.Expression, related: SubqueryRows, *tests: Expr) -> Expr:
        """Attach whether there is a row, and return that."""
        conditions = [*related.conditions, *tests]
        below, keys, equal = self._add_keys(related.node, conditions, node)
        mark, names = self.name(), {key: self.name() for key in dict.fromkeys(keys)}
        span = self.builder.span(node)
        shown = tuple((new, ColumnRef(below.field(old).type, old)) for old, new in names.items())
        if shown:
            groups = n.Aggregate(n.Project(below, shown), tuple(names.values()), (), span=span)
            passed = tuple((c, ColumnRef(e.type, c)) for c, e in shown)
            right = n.Project(groups, (*passed, (mark, Literal(BOOLEAN, True))))
            self._add(right, n.JoinKind.LEFT, [_rename_inner(e, names) for e in equal])
        else:
            one = n.Project(below, ((mark, Literal(BOOLEAN, True)),))
            some = AggCall("bool_or", (ColumnRef(BOOLEAN, mark),), BOOLEAN)
            mark = self.name()
            self._add(n.Aggregate(one, (), ((mark, some),), span=span), n.JoinKind.INNER)
        return Call(BOOLEAN, "is_not_null", (ColumnRef(BOOLEAN, mark),))

    def _is_in(self, node: exp.In) -> Expr:
        """TRUE for a row that is equal; NULL where one may be; FALSE otherwise."""
        if isinstance(node.this.unnest(), exp.Tuple):
            raise self.builder.refuse(
                "E0327",
                "(a, b) IN (SELECT …) must be a condition of its own in WHERE",
                node,
                hint="combine it with AND only, or write EXISTS (SELECT 1 FROM u WHERE u.a = a "
                "AND u.b = b)",
            )
        related = rows_of(self.builder, node.args["query"], self.scope)
        value = one_value(self.builder, related.values, node)
        asked = bind_scalar(node.this, self.scope, self.builder.context)
        equal = bind_call("=", [asked, value], self.builder.span(node))
        assert isinstance(equal, Call)
        mine, theirs = equal.args
        expr = self._mark(node, related, Call(BOOLEAN, "=", (mark_outer(mine), theirs)))
        unknown = self._mark(node, related.where(Call(BOOLEAN, "is_null", (theirs,))))
        some = self._mark(node, related)
        lost = BoolOp(BOOLEAN, "and", (Call(BOOLEAN, "is_null", (mine,)), some))
        maybe = BoolOp(BOOLEAN, "or", (unknown, lost))
        whens = ((expr, Literal(BOOLEAN, True)), (maybe, Literal(BOOLEAN, None)))
        return Case(BOOLEAN, whens, Literal(BOOLEAN, False))

    def _add_keys(
        self, node: n.Node, conditions: Iterable[Expr], place: exp.Expression
    ) -> tuple[n.Node, list[str], list[Expr]]:
        """Return the node with the inner sides of the equalities as columns, these, and those."""
        keys, equal = list[str](), list[Expr]()
        for condition in conditions:
            pair = _equal_sides(condition)
            if pair is None:
                raise refusal(self.builder, place, "a comparison other than an equality")
            node, key = with_column(node, pair[1])
            keys.append(key)
            equal.append(Call(BOOLEAN, "=", (pair[0], ColumnRef(pair[1].type, key))))
        return node, keys, equal


def _equal_sides(condition: Expr) -> tuple[Expr, Expr] | None:
    """Return the outer and the inner side of an equality between the two."""
    if not (isinstance(condition, Call) and condition.function == "="):
        return None
    for mine, theirs in (condition.args, condition.args[::-1]):
        own = columns_of(mine)
        if not is_outer(theirs) and all(c.startswith(OUTER) for c in own):
            return mine, theirs
    return None


def _rename_inner(expr: Expr, names: dict[str, str]) -> Expr:
    """Return an expression with other names for its inner columns."""

    def rename(e: Expr) -> Expr:
        return replace(e, name=names[e.name]) if isinstance(e, ColumnRef) and e.name in names else e

    return transform(expr, rename)


def _skip_projections(node: n.Node) -> n.Node:
    """Return the node below projections."""
    while isinstance(node, n.Project):
        node = node.input
    return node


def _yields_one_row(node: n.Node) -> bool:
    """Tell whether a node is an aggregate without groups, or its row filtered."""
    node = _skip_projections(node)
    while isinstance(node, n.Filter | n.Project):
        node = node.input
    return isinstance(node, n.Aggregate) and not node.group


def _value_of_no_rows(call: AggCall) -> Literal | None:
    """Return what an aggregate gives for no rows, None for NULL."""
    if call.function not in AGGREGATES:
        return None
    types = tuple(arg.type for arg in call.args)
    value = aggregate_overload(call.function, types).python([], types, call.type)
    return None if value is None else Literal(call.type, value)
