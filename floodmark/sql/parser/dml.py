"""INSERT, UPDATE and DELETE."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import NotSupported
from floodmark.sql.lexer import TokenKind
from floodmark.sql.nodes import ConstantRows
from floodmark.sql.parser.conflicts import read_assignment
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.names import read_object_name, read_placed_name
from floodmark.sql.parser.relations import read_from_list
from floodmark.sql.parser.select import read_projection
from floodmark.sql.statements import Delete, Insert, ObjectName, Update


def read_insert(cursor: Cursor, start: int) -> Insert:
    """Read what follows INSERT."""
    cursor.expect("into")
    table = read_object_name(cursor, "a table name")
    named = cursor.is_at("(") and not is_at_query(cursor)
    columns = cursor.paren_list(read_placed_name) if named else []
    at = cursor.index
    if cursor.accept("default", "values"):
        row = exp.Tuple(expressions=[])
        query: exp.Expression = cursor.node(at, exp.Values(expressions=[row]))
    elif cursor.is_at("values") and cursor.peek().kind is TokenKind.ROWS:
        query = _read_constant_rows(cursor)
    elif is_at_query(cursor):
        query = cursor.query()
    else:
        raise cursor.syntax_error("VALUES or a query")
    if cursor.is_at("on", "conflict"):
        raise NotSupported(
            "E0395",
            "ON CONFLICT is part of the table's definition, not of an INSERT",
            span=cursor.place(cursor.current),
            hint="ALTER TABLE t ON CONFLICT …",
        )
    returning = _read_returning(cursor)
    return Insert(
        table=table,
        columns=tuple(name for name, _ in columns),
        column_spans=tuple(span for _, span in columns),
        query=query,
        returning=returning,
        span=cursor.span_from(start),
    )


def _read_constant_rows(cursor: Cursor) -> exp.Expression:
    """Read VALUES with a long list of constants; as a query where more than that follows."""
    at, rows = cursor.index, cursor.peek()
    cursor.advance()
    cursor.advance()
    if not (cursor.is_at_end() or cursor.is_at_any("returning", "on")):
        cursor.index = at
        return cursor.query()
    one = cursor.node(at + 1, ConstantRows(this=cursor.text[rows.start : rows.end]))
    return cursor.node(at, exp.Values(expressions=[one]))


def _read_returning(cursor: Cursor) -> tuple[exp.Expression, ...]:
    return tuple(cursor.comma_list(read_projection)) if cursor.accept("returning") else ()


def _read_target(cursor: Cursor) -> tuple[ObjectName, str | None]:
    table = read_object_name(cursor, "a table name")
    if cursor.accept("as") or (cursor.is_at_name() and not cursor.is_at("set")):
        return table, cursor.name("an alias")
    return table, None


def _read_relations(cursor: Cursor) -> exp.Select:
    """Read the relations of UPDATE … FROM and DELETE … USING as a SELECT without columns."""
    at = cursor.index - 1
    from_, joins = read_from_list(cursor, at)
    select = exp.Select(expressions=[], from_=from_)
    if joins:
        select.set("joins", joins)
    return cursor.node(at, select)


def read_update(cursor: Cursor, start: int) -> Update:
    """Read what follows UPDATE."""
    table, alias = _read_target(cursor)
    cursor.expect("set", hint="write UPDATE t SET column = value WHERE …")
    assignments = tuple(cursor.comma_list(read_assignment))
    from_ = _read_relations(cursor) if cursor.accept("from") else None
    where = cursor.expression() if cursor.accept("where") else None
    returning = _read_returning(cursor)
    return Update(
        table=table,
        alias=alias,
        assignments=assignments,
        from_=from_,
        where=where,
        returning=returning,
        span=cursor.span_from(start),
    )


def read_delete(cursor: Cursor, start: int) -> Delete:
    """Read what follows DELETE."""
    cursor.expect("from", hint="write DELETE FROM t WHERE …")
    table, alias = _read_target(cursor)
    using = _read_relations(cursor) if cursor.accept("using") else None
    where = cursor.expression() if cursor.accept("where") else None
    returning = _read_returning(cursor)
    return Delete(
        table=table,
        alias=alias,
        using=using,
        where=where,
        returning=returning,
        span=cursor.span_from(start),
    )
