"""INSERT, UPDATE and DELETE: evaluated against the last sealed epoch, their rows written first.

The written rows are the offset of the DML epoch: a replay reads them and never evaluates again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.catalog.objects import Kind
from floodmark.catalog.types import BIGINT
from floodmark.catalog.types import Kind as TypeKind
from floodmark.changelog import ROW_ID, WEIGHT, is_hidden
from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan import nodes as n
from floodmark.plan.assignment import assigned
from floodmark.plan.bind import BindContext, bind_scalar
from floodmark.plan.binder import Binder
from floodmark.plan.coerce import refuse
from floodmark.plan.definitions import ColumnInfo
from floodmark.plan.expressions import ColumnRef, Expr, Literal, columns_of
from floodmark.plan.lookups import check_written
from floodmark.plan.scope import Column, QueryScope, Source, unknown_column
from floodmark.runtime.operators.merge import DML_ORDINAL
from floodmark.runtime.query import Reader
from floodmark.runtime.static_rows import check_static
from floodmark.spark.types import quoted
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PARTITION = 65_535
"""The source partition that stands for DML in row ids."""
_NESTED = (TypeKind.LIST, TypeKind.STRUCT, TypeKind.MAP)
Dml = s.Insert | s.Update | s.Delete


@dataclass(frozen=True)
class DmlRows:
    """What a statement writes: plans of rows with a weight, in the order in which they apply."""

    parts: tuple[tuple[n.Node, int], ...]


def plan_dml(statement: Dml, target: AnalysedObject, reader: Reader) -> DmlRows:
    """Return the rows of a statement as plans over the table's columns.

    Raises E0231 to E0237 for what the table does not take.
    """
    _check_target(statement, target)
    check_static(target, reader, statement.table.span)
    if statement.returning:
        raise NotSupported(
            "E0362",
            "RETURNING is not available yet",
            span=statement.span,
            hint="SELECT the rows afterwards",
        )
    match statement:
        case s.Insert():
            return DmlRows(((_insert(statement, target, reader), 1),))
        case s.Update():
            return _update(statement, target, reader)
        case s.Delete():
            return DmlRows(((_matching(statement, target, reader), -1),))


def _check_target(statement: Dml, target: AnalysedObject) -> None:
    if target.kind is not Kind.TABLE or target.declared is None:
        raise BindError(
            "E0231",
            f'cannot change {target.kind.value} "{target.name}"',
            span=statement.table.span,
            hint="only tables take INSERT, UPDATE and DELETE",
        )
    external = target.relation.external
    check_written(target.name, external=external, span=statement.table.span)
    if target.append_only and not isinstance(statement, s.Insert):
        raise BindError(
            "E0232",
            "append-only table does not support update or delete",
            span=statement.table.span,
            hint="create the table without APPEND ONLY",
        )
    extra = getattr(statement, "from_", None) or getattr(statement, "using", None)
    if extra is not None:
        raise NotSupported(
            "E0363",
            "UPDATE … FROM and DELETE … USING are not available yet",
            span=statement.span,
            hint="put the condition into WHERE",
        )


def _columns(target: AnalysedObject) -> tuple[ColumnInfo, ...]:
    assert target.declared is not None
    return target.declared.columns


def _insert(statement: s.Insert, target: AnalysedObject, reader: Reader) -> n.Node:
    writable = {c.name: c.type for c in _columns(target) if c.generated is None}
    for name, span in zip(statement.columns, statement.column_spans, strict=True):
        if name not in writable:
            raise unknown_column(name, writable, span)
    taking = list(statement.columns) or list(writable)
    types = tuple(writable[name] for name in taking)
    query = reader.plan_with_hidden(statement.query, statement.span, types)
    shown = [f for f in query.schema if not is_hidden(f.name)]
    names = list(statement.columns) or taking[: len(shown)]
    if len(names) != len(shown):
        raise BindError(
            "E0233",
            f"INSERT has {len(shown)} values for {len(names)} columns",
            span=statement.span,
            hint="give one value per column",
        )
    given = dict(zip(names, shown, strict=True))
    spans = dict(zip(names, _item_spans(statement, len(names)), strict=True))
    columns: list[tuple[str, Expr]] = []
    for column in _columns(target):
        if column.name in given:
            f = given[column.name]
            ref = ColumnRef(f.type, f.name)
            value = assigned(ref, column.type, name=column.name, span=spans[column.name])
            columns.append((column.name, value))
        elif column.generated is None:
            columns.append((column.name, column.default or Literal(column.type, None)))
    if isinstance(query, n.Values):
        columns.append((DML_ORDINAL, ColumnRef(BIGINT, "__ordinal")))
    return _with_generated(n.Project(query, tuple(columns)), target)


def _item_spans(statement: s.Insert, count: int) -> list[Span | None]:
    """Return where each value of an INSERT is written; the statement where a star stands for it."""
    items = statement.query.selects if isinstance(statement.query, exp.Select) else []
    if len(items) != count or any(item.is_star for item in items):
        return [statement.span] * count
    return [span_of(item, statement.span) for item in items]


def _with_generated(node: n.Node, target: AnalysedObject) -> n.Node:
    computed = {c.name: c.generated for c in _columns(target) if c.generated is not None}
    if not computed:
        return node
    columns: list[tuple[str, Expr]] = []
    for column in _columns(target):
        expr = computed.get(column.name) or ColumnRef(column.type, column.name)
        columns.append((column.name, expr))
    rest = [f for f in node.schema if is_hidden(f.name)]
    return n.Project(node, (*columns, *((f.name, ColumnRef(f.type, f.name)) for f in rest)))


def _matching(statement: s.Update | s.Delete, target: AnalysedObject, reader: Reader) -> n.Node:
    """Return the stored rows that WHERE selects, hidden key columns included."""
    relation = reader.relations[target.key]
    node: n.Node = n.Scan(target.key, relation.columns, relation.stream_key, relation.mode)
    if statement.where is None:
        return node
    binder = Binder(_scope(statement, target), _context(statement, reader))
    return n.Filter(node, binder.condition(statement.where, "WHERE"))


def _context(statement: s.Update | s.Delete, reader: Reader) -> BindContext:
    def refused(node: exp.Expression) -> Expr:
        raise refuse(
            "a subquery cannot stand in UPDATE or DELETE yet",
            span_of(node, statement.span),
            "SELECT its value first and write that; INSERT INTO … SELECT takes any query",
        )

    return BindContext(statement.span, refused, reader.pipeline.functions)


def _scope(statement: s.Update | s.Delete, target: AnalysedObject) -> QueryScope:
    alias = statement.alias or target.object.base_name
    columns = tuple(Column(f.name, f.name, f.type) for f in target.relation.columns)
    return QueryScope.of(Source(alias, columns))


def _update(statement: s.Update, target: AnalysedObject, reader: Reader) -> DmlRows:
    matching = _matching(statement, target, reader)
    assigned = _assignments(statement, target, _context(statement, reader))
    columns = tuple(
        (f.name, assigned.get(f.name, ColumnRef(f.type, f.name))) for f in target.relation.columns
    )
    new = _with_generated(n.Project(matching, columns), target)
    if moves_key(statement, target):
        return DmlRows(((matching, -1), (new, 1)))
    return DmlRows(((new, 1),))


def moves_key(statement: s.Update, target: AnalysedObject) -> bool:
    """Tell whether an UPDATE can change a row's key, itself or what generates it."""
    changed = {name for assignment in statement.assignments for name in assignment.columns}
    for column in _columns(target):
        if column.generated is not None and columns_of(column.generated) & changed:
            changed.add(column.name)
    return bool(changed & set(target.relation.stream_key))


def _assignments(
    statement: s.Update, target: AnalysedObject, context: BindContext
) -> dict[str, Expr]:
    scope = _scope(statement, target)
    writable = {c.name: c for c in _columns(target) if c.generated is None}
    out: dict[str, Expr] = {}
    for assignment in statement.assignments:
        values = _values(assignment)
        for name, value in zip(assignment.columns, values, strict=True):
            if name not in writable:
                raise unknown_column(name, writable, assignment.span)
            bound = bind_scalar(value, scope, context)
            span = assignment.span
            out[name] = assigned(bound, writable[name].type, name=name, span=span)
    return out


def _values(assignment: s.Assignment) -> list[Any]:
    if not assignment.is_tuple:
        return [assignment.value]
    values = list(getattr(assignment.value, "expressions", ()))
    if len(values) != len(assignment.columns):
        raise NotSupported(
            "E0364",
            "a tuple assignment needs as many values as columns, written out",
            span=assignment.span,
            hint="(a, b) = (1, 2)",
        )
    return values


def dml_frame(rows: DmlRows, target: AnalysedObject, reader: Reader, start: int) -> DataFrame:
    """Return the rows to write: the table's columns, weight and ordinal from `start` on."""
    frames = [_part(node, weight, i, target, reader) for i, (node, weight) in enumerate(rows.parts)]
    frame = frames[0]
    for other in frames[1:]:
        frame = frame.unionAll(other)
    numbered = f"row_number() OVER (ORDER BY __part, {DML_ORDINAL}) - 1"
    frame = frame.selectExpr("*", f"CAST({numbered} AS BIGINT) AS __number")
    names = []
    for f in target.relation.columns:
        if f.name == ROW_ID:
            fresh = f"shiftleft(CAST({PARTITION} AS BIGINT), 47) | (__number + {start}L)"
            names.append(f"coalesce({ROW_ID}, {fresh}) AS {ROW_ID}")
        else:
            names.append(quoted(f.name))
    return frame.selectExpr(*names, WEIGHT, f"__number AS {DML_ORDINAL}")


def _part(
    node: n.Node, weight: int, part: int, target: AnalysedObject, reader: Reader
) -> DataFrame:
    frame = reader.frame(node)
    have = set(node.names)
    columns = []
    for f in target.relation.columns:
        if f.name in have:
            columns.append(quoted(f.name))
        else:
            type_ = "BIGINT" if f.name == ROW_ID else "STRING"
            columns.append(f"CAST(NULL AS {type_}) AS {f.name}")
    ordinal = (
        DML_ORDINAL if DML_ORDINAL in have else f"monotonically_increasing_id() AS {DML_ORDINAL}"
    )
    return frame.selectExpr(
        *columns, f"CAST({weight} AS INT) AS {WEIGHT}", ordinal, f"{part} AS __part"
    )


def nested_nulls(paths: Sequence[str], target: AnalysedObject) -> dict[str, int]:
    """Count the NULLs of NOT NULL columns of which files have no statistics: nested ones."""
    from pyarrow import parquet as pq

    nested = [c.name for c in _columns(target) if c.not_null and c.type.kind in _NESTED]
    if not nested:
        return {}
    counts = dict.fromkeys(nested, 0)
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(columns=nested):
            for name in nested:
                counts[name] += batch.column(name).null_count
    return counts


def check_rows(found: Mapping[str, int], target: AnalysedObject, span: Span | None = None) -> None:
    """Raise E0235 for a NULL in a NOT NULL column; `found` counts NULLs per column."""
    for column in _columns(target):
        if column.not_null and found.get(column.name):
            raise BindError(
                "E0235",
                f'null value in column "{column.name}" of relation "{target.name}" violates '
                "not-null constraint",
                span=span,
                hint="give a value, or a DEFAULT in the table",
            )
