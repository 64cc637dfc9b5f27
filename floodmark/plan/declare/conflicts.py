"""ON CONFLICT of tables, bound: how a row with an existing primary key is treated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from sqlglot import exp

from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan.bind.assignment import assign, is_default
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.coercion import coerce, refuse
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import Column, QueryScope, Source, unknown_column
from floodmark.plan.build.assignments import check_tables, values_of
from floodmark.plan.build.targets import not_writable
from floodmark.plan.declaration import REPLACE, ColumnInfo, ConflictRule
from floodmark.plan.expr.determinism import is_volatile
from floodmark.plan.expr.expressions import Case, Cast, ColumnRef, Expr, Literal, UserCall, walk
from floodmark.scalar.types import BOOLEAN, SqlType
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of
from floodmark.sql.statements import ConflictAction

EXCLUDED = "__excluded_"
"""Prefix under which the expressions of DO UPDATE SET see the columns of the incoming row."""


KEEP = ConflictRule(ConflictAction.DO_NOTHING)


def default_of(st: s.CreateSource | s.CreateTable, key: tuple[str, ...]) -> ConflictRule:
    """Return the behaviour of a definition without ON CONFLICT: rows that are only added stay."""
    return KEEP if isinstance(st, s.CreateTable) and st.append_only and key else REPLACE


def check_append_only(st: s.CreateSource | s.CreateTable, key: tuple[str, ...]) -> None:
    """Raise E0773 for a conflict behaviour that would change rows that are only added."""
    clause = getattr(st, "conflict", None)
    if clause is None or not (key and st.append_only):
        return
    if clause.action is ConflictAction.DO_NOTHING:
        return
    raise BindError(
        "E0773",
        "the ON CONFLICT behaviour of an APPEND ONLY table with a primary key must be DO NOTHING",
        span=clause.span,
        hint="write ON CONFLICT DO NOTHING, or leave APPEND ONLY out",
    )


@dataclass(frozen=True)
class _Scope:
    """The columns of the stored row; EXCLUDED has those of the incoming one."""

    stored: QueryScope
    incoming: QueryScope

    def resolve(self, table: str | None, column: str, span: Span | None) -> ColumnRef:
        if table == "excluded":
            return self.incoming.resolve(table, column, span)
        return self.stored.resolve(table, column, span)


def bind_conflict(
    clause: s.ConflictClause,
    columns: tuple[ColumnInfo, ...],
    key: tuple[str, ...],
    table: str,
    context: BindContext,
) -> ConflictRule:
    """Return a table's conflict behaviour.

    Raises E0701 to E0704 for what does not fit the table, and what its expressions raise.
    """
    if not key:
        raise BindError(
            "E0701",
            f'ON CONFLICT needs a primary key, and "{table}" has none',
            span=clause.span,
            hint="add PRIMARY KEY (…), or leave ON CONFLICT out",
        )
    types = {c.name: c.type for c in columns}
    _check_versions(clause, types)
    if clause.action is not ConflictAction.UPDATE_SET:
        return ConflictRule(clause.action, clause.version_columns)
    incoming = tuple(Column(name, EXCLUDED + name, type_) for name, type_ in types.items())
    stored = tuple(Column(name, name, type_) for name, type_ in types.items())
    scope = _Scope(
        QueryScope.from_sources(Source(table, stored)),
        QueryScope.from_sources(Source("excluded", incoming)),
    )
    context = replace(context, subquery=lambda node: _no_subquery(node, context.source))
    condition = None
    if clause.where is not None:
        condition = coerce(bind_scalar(clause.where, scope, context), BOOLEAN)
    values = dict(_values(clause, columns, key, table, scope, context))
    bound = tuple(values.items())
    for expr in (*values.values(), *([] if condition is None else [condition])):
        _check_repeatable(expr, clause.span)
    return ConflictRule(clause.action, clause.version_columns, bound, condition)


def _no_subquery(node: exp.Expression, source: Span | None) -> NoReturn:
    raise refuse(
        "a subquery cannot stand in ON CONFLICT",
        span_of(node, source),
        "the table's columns and those of EXCLUDED can; a sink can join what else a row needs",
    )


def _check_versions(clause: s.ConflictClause, types: Mapping[str, SqlType]) -> None:
    for column in clause.version_columns:
        if column not in types:
            raise unknown_column(column, types, clause.span)
        if not types[column].is_orderable:
            raise BindError(
                "E0703",
                f'the version column "{column}" is {types[column]}, which has no order',
                span=clause.span,
                hint="take a number, a timestamp or a text",
            )
    if clause.version_columns and clause.action is ConflictAction.DO_NOTHING:
        raise BindError(
            "E0704",
            "DO NOTHING keeps the first row of a key, a version column the newest one",
            span=clause.span,
            hint="leave WITH VERSION COLUMN out, or write DO UPDATE FULL",
        )


def _values(
    clause: s.ConflictClause,
    columns: tuple[ColumnInfo, ...],
    key: tuple[str, ...],
    table: str,
    scope: _Scope,
    context: BindContext,
) -> Iterator[tuple[str, Expr]]:
    writable = {c.name: c for c in columns if c.generated is None}
    for assignment in clause.assignments:
        check_tables(assignment, table)
        for name, value in values_of(assignment):
            if name not in writable:
                raise not_writable(name, columns, assignment.span)
            bound = _value(value, writable[name], scope, context, assignment.span)
            if name not in key:
                yield name, bound
            elif not _same_key(bound, name):
                raise BindError(
                    "E0702",
                    f'DO UPDATE SET cannot change "{name}", which is in the key',
                    span=assignment.span,
                    hint=f"leave {name} out: the key of both rows is the same",
                )


def _value(
    value: exp.Expression,
    column: ColumnInfo,
    scope: _Scope,
    context: BindContext,
    span: Span | None,
) -> Expr:
    if is_default(value):
        return column.default or Literal(column.type, None)
    bound = bind_scalar(value, scope, context, target=column.type)
    return assign(bound, column.type, name=column.name, span=span)


def _same_key(expr: Expr, column: str) -> bool:
    """Tell whether an expression gives the key that both rows have, whichever it takes."""
    match expr:
        case ColumnRef():
            return expr.name in (column, EXCLUDED + column)
        case Cast():
            return expr.operand.type == expr.type and _same_key(expr.operand, column)
        case Case():
            results = [result for _, result in expr.whens]
            otherwise = [] if expr.otherwise is None else [expr.otherwise]
            return bool(otherwise) and all(_same_key(e, column) for e in (*results, *otherwise))
        case _:
            return False


def _check_repeatable(expr: Expr, span: Span | None) -> None:
    """Refuse what another try of an epoch would give another value for, or cannot be asked."""
    calls: Any = next((e for e in walk(expr) if isinstance(e, UserCall)), None)
    if is_volatile(expr) or calls is not None:
        what = f"{calls.function}()" if calls is not None else "a volatile function"
        raise NotSupported(
            "E0346",
            f"ON CONFLICT cannot call {what}",
            span=expr.span or span,
            hint="compute it in the statement or query that writes the row, and read it as "
            "EXCLUDED.…",
        )
