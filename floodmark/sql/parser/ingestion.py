"""The clauses of what takes in data: options, FORMAT, INCLUDE, APPEND ONLY."""

from __future__ import annotations

from typing import Any

from floodmark.sql.parser.clauses import set_clause
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.options import read_options, read_with_options
from floodmark.sql.statements import FormatEncode, IncludeColumn


def read_format_encode(cursor: Cursor) -> FormatEncode | None:
    """Read `FORMAT f [ENCODE e] [( options )]` when it comes next."""
    start = cursor.index
    if not cursor.accept("format"):
        return None
    format_ = cursor.name("a format").upper()
    encode = None
    if cursor.accept("encode"):
        encode = cursor.name("an encoding").upper()
    options = read_options(cursor) if cursor.is_at("(") else ()
    return FormatEncode(
        format=format_, encode=encode, options=options, span=cursor.span_from(start)
    )


def _read_include(cursor: Cursor) -> IncludeColumn:
    """Read `INCLUDE INGESTION TIMESTAMP [AS name]` and its kin."""
    start = cursor.index
    cursor.expect("include")
    kind = cursor.name("what to include").upper()
    if cursor.accept("timestamp"):
        kind += " TIMESTAMP"
    default = "_".join(kind.lower().split())
    name = cursor.name("a column name") if cursor.accept("as") else f"_{default}"
    return IncludeColumn(kind=kind, name=name, span=cursor.span_from(start))


def read_ingestion_clause(cursor: Cursor, clauses: dict[str, Any]) -> bool:
    """Read one of the clauses that sources and tables share, in any order."""
    start = cursor.index
    if cursor.accept("append", "only"):
        set_clause(cursor, clauses, "append_only", True, start)
    elif (options := read_with_options(cursor)) is not None:
        set_clause(cursor, clauses, "options", options, start)
    elif (format_ := read_format_encode(cursor)) is not None:
        set_clause(cursor, clauses, "format", format_, start)
    elif cursor.is_at("include"):
        clauses["includes"] = (*clauses.get("includes", ()), _read_include(cursor))
    else:
        return False
    return True
