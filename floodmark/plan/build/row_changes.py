"""UPDATE, DELETE and RETURNING as plans: what a statement does to rows, said as a query.

The rows that an UPDATE or DELETE finds are those of the target, joined with FROM or USING and
filtered by WHERE, as in a SELECT. A row that several rows of FROM match is changed once. The first
of these rows counts, sorted by the columns of FROM from left to right, ascending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from floodmark.catalog.objects import Relation
from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.bind.assignment import assign, is_default
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.scope import Column, QueryScope, Source
from floodmark.plan.build.assignments import check_tables, values_of
from floodmark.plan.build.joins import rename_clashes
from floodmark.plan.build.ordering import one_of_each
from floodmark.plan.build.outputs import ColumnTypes, visible_name
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.build.relations import build_from_clause, scan_of
from floodmark.plan.build.subqueries import Subqueries
from floodmark.plan.build.targets import not_writable
from floodmark.plan.build.where import filter_rows
from floodmark.plan.declaration import ColumnInfo
from floodmark.plan.expr.expressions import ColumnRef, Expr, Literal, columns_of
from floodmark.plan.nodes.columns import fresh_name
from floodmark.scalar.types import Field, Kind, Schema
from floodmark.sql import statements as s

OLD = "__old"
"""What the columns of the old row are called beside those of the new one, before a number."""
FROM = "__from"
"""What stands before the name of a column of FROM that RETURNING reads."""
WRITTEN = "__written"
"""The relation of the rows that a statement has written."""


@dataclass(frozen=True)
class TargetTable:
    """A table whose rows a statement changes; `columns` are as declared, in order."""

    relation: Relation
    columns: tuple[ColumnInfo, ...]
    alias: str

    @property
    def writable(self) -> dict[str, ColumnInfo]:
        """Return the columns that a statement may write, by name."""
        return {c.name: c for c in self.columns if c.generated is None}

    @property
    def scope(self) -> QueryScope:
        """Return the scope of the table alone."""
        columns = tuple(Column(f.name, f.name, f.type) for f in self.relation.columns)
        return QueryScope.from_sources(Source(self.alias, columns, key=self.relation.primary_key))


@dataclass(frozen=True)
class TargetRows:
    """The rows that a statement finds, and the relations beside the target in scope."""

    node: n.Node
    scope: QueryScope
    beside: tuple[Source, ...] = ()


def find_rows(
    builder: QueryBuilder,
    target: TargetTable,
    beside: exp.Expression | None,
    where: exp.Expression | None,
) -> TargetRows:
    """Return each row that a statement finds once; `beside` is a SELECT of FROM or USING alone."""
    relation = target.relation
    bound = BoundNode(scan_of(relation, builder.source), target.scope)
    others: tuple[Source, ...] = ()
    if beside is not None:
        joined = build_from_clause(builder, beside)
        assert joined is not None
        right = rename_clashes(bound, joined)
        others = right.scope.sources
        node = n.Join(bound.node, right.node, n.JoinKind.INNER, (), span=builder.span(beside))
        bound = BoundNode(node, bound.scope.join(right.scope, builder.span(beside)))
    if where is not None:
        bound, _ = filter_rows(builder, bound, exp.Where(this=where))
    if beside is not None:
        bound = replace(bound, node=one_of_each(bound.node, relation.stream_key))
    return TargetRows(bound.node, bound.scope, others)


def build_update(
    builder: QueryBuilder,
    target: TargetTable,
    rows: TargetRows,
    statement: s.Update,
    passed: Sequence[tuple[str, Expr]],
    *,
    with_old: bool,
) -> n.Node:
    """Return the new rows; `with_old` the old ones beside them, and the columns `passed`."""
    subqueries = Subqueries(builder, rows.scope)
    inner = builder.with_subqueries(subqueries.bind)
    values = _values(inner, target, rows.scope, statement)
    fields = target.relation.columns
    new: list[tuple[str, Expr]] = [
        (f.name, values.get(f.name, ColumnRef(f.type, f.name))) for f in fields
    ]
    old = [(f"{OLD}{i}", ColumnRef(f.type, f.name)) for i, f in enumerate(fields) if with_old]
    node = subqueries.attach(rows.node)
    return with_generated(n.Project(node, (*new, *old, *passed)), target.columns)


def _values(
    builder: QueryBuilder, target: TargetTable, scope: QueryScope, statement: s.Update
) -> dict[str, Expr]:
    writable, out = target.writable, dict[str, Expr]()
    generated = {c.name for c in target.columns} - set(writable)
    for assignment in statement.assignments:
        check_tables(assignment, statement.alias or statement.table.name, statement.table.name)
        for name, value in values_of(assignment, builder.with_subqueries(None)):
            if name in generated and is_default(value):
                continue
            if name not in writable:
                raise not_writable(name, target.columns, assignment.span)
            column = writable[name]
            if is_default(value):
                out[name] = column.default or Literal(column.type, None)
                continue
            bound = bind_scalar(value, scope, builder.context, target=column.type)
            out[name] = assign(bound, column.type, name=name, span=assignment.span)
    return out


def build_delete(
    target: TargetTable, rows: TargetRows, passed: Sequence[tuple[str, Expr]]
) -> n.Node:
    """Return the old rows, and the columns `passed`."""
    own = [(f.name, ColumnRef(f.type, f.name)) for f in target.relation.columns]
    return n.Project(rows.node, (*own, *passed))


def with_generated(node: n.Node, columns: Sequence[ColumnInfo]) -> n.Node:
    """Return new rows with their generated columns computed; hidden columns go along."""
    if not any(c.generated is not None for c in columns):
        return node
    visible = [(c.name, c.generated or ColumnRef(c.type, c.name)) for c in columns]
    hidden = [(f.name, ColumnRef(f.type, f.name)) for f in node.schema if is_hidden(f.name)]
    return n.Project(node, (*visible, *hidden))


@dataclass(frozen=True)
class Returning:
    """What RETURNING asks of the rows that a statement has written.

    `node` reads the relation `WRITTEN`: the table's columns, then those of FROM that `passed` names
    by their plan names, then the ordinal; its columns are the results, then the ordinal.
    """

    node: n.Node
    written: Schema
    passed: tuple[tuple[str, Expr], ...] = ()


def returning(
    builder: QueryBuilder,
    target: TargetTable,
    rows: TargetRows | None,
    items: Sequence[exp.Expression],
    ordinal: Field,
) -> Returning:
    """Bind RETURNING: expressions over the row that was written, and the columns of FROM."""
    beside = () if rows is None else rows.beside
    moved = {c.plan_name: FROM + c.plan_name for source in beside for c in source.columns}
    scope = target.scope
    for source in beside:
        scope = scope.join(QueryScope.from_sources(source.rename(moved)), builder.source)
    subqueries = Subqueries(builder, scope)
    inner = builder.with_subqueries(subqueries.bind)
    outputs = _outputs(inner, scope, items)
    read = {c for _, e in outputs for c in columns_of(e)}
    read |= {c for e in subqueries.reads() for c in columns_of(e)}
    kept = [c for source in beside for c in source.columns if moved[c.plan_name] in read]
    passed = tuple((moved[c.plan_name], ColumnRef(c.type, c.plan_name)) for c in kept)
    extra = tuple(Field(name, e.type) for name, e in passed)
    written = (*target.relation.columns, *extra, ordinal)
    scan = n.Scan(WRITTEN, written, (ordinal.name,), ChangelogMode.APPEND_ONLY)
    node = subqueries.attach(scan)
    last = (ordinal.name, ColumnRef(ordinal.type, ordinal.name))
    return Returning(n.Project(node, (*outputs, last)), written, passed)


def _outputs(
    builder: QueryBuilder, scope: QueryScope, items: Sequence[exp.Expression]
) -> list[tuple[str, Expr]]:
    out, taken = list[tuple[str, Expr]](), set[str]()
    for item in items:
        span = builder.span(item)
        inner = item.this if isinstance(item, exp.Alias) else item
        if item.is_star:
            columns = scope.star(getattr(inner, "table", "") or None, span)
            named = [(c.name, ColumnRef(c.type, c.plan_name, span=span)) for c in columns]
            out += [(fresh_name(name, taken), ref) for name, ref in named]
            continue
        expr = bind_scalar(inner, scope, builder.context)
        if isinstance(expr, Literal) and expr.type.kind is Kind.UNKNOWN:
            expr = ColumnTypes().give_type(0, expr)
        out.append((fresh_name(visible_name(item, span), taken), expr))
    return out
