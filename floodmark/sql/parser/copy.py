"""COPY from and to files."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import Span
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.names import read_object_name, read_placed_name
from floodmark.sql.parser.options import read_options
from floodmark.sql.statements import CopyFrom, CopyTo, ObjectName, Option


def read_copy(cursor: Cursor, start: int) -> CopyFrom | CopyTo:
    """Read what follows COPY."""
    if cursor.accept("("):
        query = cursor.query()
        cursor.expect(")")
        cursor.expect("to", hint="COPY (query) TO 'file'")
        return _read_copy_target(cursor, start, query)
    at = cursor.index
    table = read_object_name(cursor, "a table name, or a query in parentheses")
    columns = cursor.paren_list(read_placed_name) if cursor.is_at("(") else []
    direction = cursor.accept_any("from", "to")
    if direction is None:
        raise cursor.syntax_error("FROM or TO")
    if direction == "to":
        items = [_column_at(*placed) for placed in columns] or [exp.Star()]
        schema = None if table.schema is None else exp.to_identifier(table.schema, quoted=True)
        named = exp.Table(this=exp.to_identifier(table.name, quoted=True), db=schema)
        from_ = exp.From(this=cursor.node(at, named))
        query = exp.Select(expressions=items, from_=from_)
        return _read_copy_target(cursor, start, query, None if columns else table)
    path = cursor.expect_string("a path")
    return CopyFrom(
        table=table,
        path=path,
        columns=tuple(name for name, _ in columns),
        column_spans=tuple(span for _, span in columns),
        options=_read_copy_options(cursor),
        span=cursor.span_from(start),
    )


def _read_copy_target(
    cursor: Cursor, start: int, query: exp.Expression, table: ObjectName | None = None
) -> CopyTo:
    path = cursor.expect_string("a path")
    options = _read_copy_options(cursor)
    span = cursor.span_from(start)
    return CopyTo(query=query, path=path, options=options, table=table, span=span)


def _read_copy_options(cursor: Cursor) -> tuple[Option, ...]:
    """Read `[WITH] (format csv, header true)`, as in PostgreSQL also without `=`."""
    cursor.accept("with")
    if not cursor.is_at("("):
        return ()
    return read_options(cursor, bare=True)


def _column_at(name: str, span: Span) -> exp.Expression:
    column = exp.column(name, quoted=True)
    column.meta.update(start=span.start, end=span.end - 1)
    return column
