"""INSERT, UPDATE and DELETE as plans: evaluated against the last sealed epoch.

Every form is a query that the ordinary planner plans, so subqueries and joins mean what they mean
in a SELECT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import is_hidden
from floodmark.dataflow.merge.merge import DML_ORDINAL
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.assignment import assign
from floodmark.plan.build.outputs import ColumnTypes
from floodmark.plan.build.row_changes import (
    Returning,
    TargetRows,
    TargetTable,
    build_delete,
    build_update,
    find_rows,
    returning,
    with_generated,
)
from floodmark.plan.build.targets import check_writable, not_writable
from floodmark.plan.declaration import ColumnInfo
from floodmark.plan.expr.expressions import ColumnRef, Expr, Literal, columns_of
from floodmark.query.dml.generated import without_generated
from floodmark.query.query import Reader, rewrite_to_run
from floodmark.query.static_rows import check_static
from floodmark.scalar.types import BIGINT, Field
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of
from floodmark.stream.objects.analysed import AnalysedObject

Dml = s.Insert | s.Update | s.Delete
ORDINAL_FIELD = Field(DML_ORDINAL, BIGINT, nullable=False)


class RowsEffect(Enum):
    """How the rows of a plan change the table."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    MOVE = "MOVE"
    """New rows with the old ones beside them, whose keys may differ."""
    DELETE = "DELETE"


@dataclass(frozen=True)
class PlannedDml:
    """A planned DML statement: the rows that it writes, their effect, and RETURNING."""

    node: n.Node
    effect: RowsEffect
    returning: Returning | None = None

    @property
    def reads(self) -> frozenset[str]:
        """Return the objects that the written rows are computed from."""
        return frozenset(scan.object for scan in n.scans(self.node))


def plan_dml(statement: Dml, target: AnalysedObject, reader: Reader) -> PlannedDml:
    """Return the rows of a statement as a plan over the table's columns.

    Raises E0231 to E0237 for what the table does not take.
    """
    check_target(statement, target)
    check_static(target, reader, statement.table.span)
    alias = getattr(statement, "alias", None) or target.object.base_name
    changing = TargetTable(target.relation, columns_of_table(target), alias)
    builder = reader.builder(statement.span)
    if isinstance(statement, s.Insert):
        asked = _returning(statement, changing, None, reader)
        statement = without_generated(statement, changing.columns)
        return PlannedDml(_insert(statement, changing, reader), RowsEffect.INSERT, asked)
    beside = statement.from_ if isinstance(statement, s.Update) else statement.using
    rows = find_rows(builder, changing, beside, statement.where)
    asked = _returning(statement, changing, rows, reader)
    passed = () if asked is None else asked.passed
    if isinstance(statement, s.Delete):
        return PlannedDml(
            rewrite_to_run(build_delete(changing, rows, passed)), RowsEffect.DELETE, asked
        )
    # Where a row would meet the stored one, it goes first: what a statement sets is what is set.
    moves = moves_key(statement, target) or not replaces(target)
    node = build_update(builder, changing, rows, statement, passed, with_old=moves)
    return PlannedDml(rewrite_to_run(node), RowsEffect.MOVE if moves else RowsEffect.UPDATE, asked)


def check_target(statement: Dml | s.CopyFrom, target: AnalysedObject) -> None:
    """Raise E0231, E0232 or E0399 for an object that does not accept the statement."""
    if target.kind is not ObjectKind.TABLE or target.declared is None:
        raise BindError(
            "E0231",
            f'cannot change {target.kind.value} "{target.name}"',
            span=statement.table.span,
            hint="only tables take INSERT, UPDATE and DELETE",
        )
    external = target.relation.external
    check_writable(target.name, external=external, span=statement.table.span)
    declared = target.declared
    if declared is not None and declared.append_only and isinstance(statement, s.Update | s.Delete):
        raise BindError(
            "E0232",
            "append-only table does not support update or delete",
            span=statement.table.span,
            hint="create the table without APPEND ONLY",
        )


def columns_of_table(target: AnalysedObject) -> tuple[ColumnInfo, ...]:
    """Return the columns of a table as they are declared."""
    assert target.declared is not None
    return target.declared.columns


def _returning(
    statement: Dml, changing: TargetTable, rows: TargetRows | None, reader: Reader
) -> Returning | None:
    if not statement.returning:
        return None
    builder = reader.builder(statement.span)
    return returning(builder, changing, rows, statement.returning, ORDINAL_FIELD)


def _insert(statement: s.Insert, target: TargetTable, reader: Reader) -> n.Node:
    writable = target.writable
    for name, span in zip(statement.columns, statement.column_spans, strict=True):
        if name not in writable:
            raise not_writable(name, target.columns, span)
    taking = [writable[name] for name in statement.columns or writable]
    defaults = tuple(c.default or Literal(c.type, None) for c in taking)
    given = ColumnTypes(tuple(c.type for c in taking), defaults=defaults)
    query = reader.plan_with_hidden(statement.query, statement.span, given)
    shown = [f for f in query.schema if not is_hidden(f.name)]
    names = list(statement.columns) or [c.name for c in taking[: len(shown)]]
    if len(names) != len(shown):
        raise BindError(
            "E0233",
            f"INSERT has {len(shown)} values for {len(names)} columns",
            span=statement.span,
            hint="give one value per column",
        )
    if not statement.columns:
        _check_positions(statement, target, names)
    values = dict(zip(names, shown, strict=True))
    spans = dict(zip(names, _item_spans(statement, len(names)), strict=True))
    columns: list[tuple[str, Expr]] = []
    for column in target.columns:
        if column.name in values:
            f = values[column.name]
            ref = ColumnRef(f.type, f.name)
            value = assign(ref, column.type, name=column.name, span=spans[column.name])
            columns.append((column.name, value))
        elif column.generated is None:
            columns.append((column.name, column.default or Literal(column.type, None)))
    if isinstance(query, n.Values) or DML_ORDINAL in query.names:
        columns.append((DML_ORDINAL, ColumnRef(BIGINT, DML_ORDINAL)))
    return with_generated(n.Project(query, tuple(columns)), target.columns)


def _check_positions(statement: s.Insert, target: TargetTable, names: Sequence[str]) -> None:
    """Refuse values by position where a column that takes none stands before the last of them."""
    reached = [c.name for c in target.columns]
    reached = reached[: reached.index(names[-1])] if names else []
    for name in reached:
        if name not in target.writable:
            raise not_writable(name, target.columns, statement.table.span)


def _item_spans(statement: s.Insert, count: int) -> list[Span | None]:
    """Return the place of each value of an INSERT; for a star, that of the statement."""
    items = statement.query.selects if isinstance(statement.query, exp.Select) else []
    if len(items) != count or any(item.is_star for item in items):
        return [statement.span] * count
    return [span_of(item, statement.span) for item in items]


def replaces(target: AnalysedObject) -> bool:
    """Tell whether a row with an existing key replaces the stored row of the table."""
    return target.declared is None or target.declared.conflict.replaces


def moves_key(statement: s.Update, target: AnalysedObject) -> bool:
    """Tell whether an UPDATE can change a row's key, or columns from which it is generated."""
    changed = {name for assignment in statement.assignments for name in assignment.columns}
    for column in columns_of_table(target):
        if column.generated is not None and columns_of(column.generated) & changed:
            changed.add(column.name)
    return bool(changed & set(target.relation.stream_key))
