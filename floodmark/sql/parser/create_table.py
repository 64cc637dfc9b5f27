"""CREATE TABLE, with columns or AS a query."""

from __future__ import annotations

from typing import Any

from floodmark.errors import SqlSyntaxError
from floodmark.sql.parser.as_query import read_as_query
from floodmark.sql.parser.clauses import refuse_twice, set_clause
from floodmark.sql.parser.columns import read_elements
from floodmark.sql.parser.conflicts import read_conflict, read_version_columns
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.ingestion import read_ingestion_clause
from floodmark.sql.parser.names import read_names
from floodmark.sql.statements import (
    ConflictAction,
    ConflictClause,
    CreateTable,
    CreateTableAs,
    Statement,
)


def read_create_table(cursor: Cursor, start: int, head: dict[str, Any]) -> Statement:
    """Read `(elements)` and the clauses, or AS a query."""
    names_at = cursor.index
    if _is_at_bare_names(cursor):
        columns = read_names(cursor)
        return _read_table_of_query(cursor, start, head, {}, columns)
    elements = read_elements(cursor)
    clauses: dict[str, Any] = {}
    while read_ingestion_clause(cursor, clauses) or _read_conflict_clause(cursor, clauses):
        pass
    if cursor.is_at("as"):
        if elements.columns:
            raise SqlSyntaxError(
                "E0119",
                "CREATE TABLE … AS takes column names without types",
                span=cursor.span_from(names_at),
                hint="leave the types out, or cast in the query",
            )
        clauses["primary_key"] = elements.primary_key
        return _read_table_of_query(cursor, start, head, clauses, ())
    if not elements.columns and not clauses.get("options"):
        raise cursor.syntax_error("the columns in parentheses, or AS and a query")
    return CreateTable(
        **head,
        **clauses,
        columns=tuple(elements.columns),
        primary_key=elements.primary_key,
        watermarks=tuple(elements.watermarks),
        span=cursor.span_from(start),
    )


def _is_at_bare_names(cursor: Cursor) -> bool:
    """Tell `(a, b)` from `(a int, …)`."""
    return cursor.is_at("(") and cursor.peek(2).value in (",", ")") and cursor.peek(1).value != ")"


def _read_conflict_clause(cursor: Cursor, clauses: dict[str, Any]) -> bool:
    start = cursor.index
    if cursor.is_at("on", "conflict"):
        set_clause(cursor, clauses, "conflict", read_conflict(cursor), start)
        return True
    if cursor.is_at("with", "version"):
        columns = read_version_columns(cursor)
        old = clauses.get("conflict")
        if old is not None and old.version_columns:
            refuse_twice("WITH VERSION COLUMN", cursor.span_from(start))
        clauses["conflict"] = ConflictClause(
            action=old.action if old else ConflictAction.UPDATE_FULL,
            assignments=old.assignments if old else (),
            where=old.where if old else None,
            version_columns=columns,
            span=old.span if old else cursor.span_from(start),
        )
        return True
    return False


def _read_table_of_query(
    cursor: Cursor,
    start: int,
    head: dict[str, Any],
    clauses: dict[str, Any],
    columns: tuple[str, ...],
) -> CreateTableAs:
    while _read_conflict_clause(cursor, clauses) or read_ingestion_clause(cursor, clauses):
        pass
    query = read_as_query(cursor, "TABLE")
    while _read_conflict_clause(cursor, clauses) or read_ingestion_clause(cursor, clauses):
        pass
    for key in ("format", "includes"):
        if clauses.pop(key, None):
            raise cursor.syntax_error(f"no {key} behind a query")
    return CreateTableAs(
        **head, **clauses, columns=columns, query=query, span=cursor.span_from(start)
    )
