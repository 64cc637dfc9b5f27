"""CREATE SOURCE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.parser.clauses import set_clause
from floodmark.sql.parser.columns import read_elements
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.ingestion import read_ingestion_clause
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.options import read_with_options
from floodmark.sql.statements import CreateSource, Option, Transform


def read_create_source(cursor: Cursor, start: int, head: dict[str, Any]) -> CreateSource:
    """Read `[(elements)]` and the clauses, with TRANSFORM USING or FOR TABLES."""
    elements = read_elements(cursor)
    clauses: dict[str, Any] = {}
    while read_ingestion_clause(cursor, clauses) or _read_transform_clause(cursor, clauses):
        pass
    return CreateSource(
        **head,
        **clauses,
        columns=tuple(elements.columns),
        primary_key=elements.primary_key,
        watermarks=tuple(elements.watermarks),
        span=cursor.span_from(start),
    )


def _read_transform_clause(cursor: Cursor, clauses: dict[str, Any]) -> bool:
    start = cursor.index
    if cursor.is_at("transform", "using"):
        _check_one_kind(cursor, clauses, for_tables=False)
        set_clause(cursor, clauses, "transforms", (_read_transform(cursor, {}),), start)
    elif cursor.is_at("for", "tables"):
        _check_one_kind(cursor, clauses, for_tables=True)
        cursor.expect("for", "tables", "(")
        if cursor.is_at(")"):
            raise cursor.syntax_error(
                "a table name", hint="FOR TABLES (t TRANSFORM USING (SELECT … FROM t), u)"
            )
        tables = cursor.comma_list(_read_table_transform, trailing=(")",))
        cursor.expect(")")
        set_clause(cursor, clauses, "transforms", tuple(tables), start)
        clauses["for_tables"] = True
    else:
        return False
    return True


def _check_one_kind(cursor: Cursor, clauses: dict[str, Any], *, for_tables: bool) -> None:
    if clauses.get("transforms") and clauses.get("for_tables", False) is not for_tables:
        raise SqlSyntaxError(
            "E0132",
            "TRANSFORM USING cannot be used beside FOR TABLES",
            span=cursor.place(cursor.current),
            hint="write it after each table: FOR TABLES (t TRANSFORM USING (…))",
        )


def _read_transform(cursor: Cursor, parts: dict[str, Any]) -> Transform:
    """Read `TRANSFORM USING (query) [WITH (…)]`; without a query where `parts` has a table."""
    start = cursor.index
    query: exp.Expression | None = None
    options: tuple[Option, ...] = ()
    if cursor.accept("transform", "using"):
        cursor.expect("(")
        if not is_at_query(cursor):
            raise cursor.syntax_error("a query")
        query = cursor.query()
        cursor.expect(")")
        options = read_with_options(cursor) or ()
    return Transform(query=query, options=options, span=cursor.span_from(start), **parts)


def _read_table_transform(cursor: Cursor) -> Transform:
    start = cursor.index
    table = cursor.name("a table name")
    parts: dict[str, Any] = {"table": table, "name_span": cursor.span_from(start)}
    elements = read_elements(cursor)
    parts["columns"] = tuple(elements.columns)
    parts["primary_key"] = elements.primary_key
    parts["watermarks"] = tuple(elements.watermarks)
    transform = _read_transform(cursor, parts)
    if cursor.accept("as"):
        alias_at = cursor.index
        alias = cursor.name("an alias")
        transform = replace(transform, alias=alias, name_span=cursor.span_from(alias_at))
    return replace(transform, span=cursor.span_from(start))
