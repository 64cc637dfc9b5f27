"""SHOW and DESCRIBE."""

from __future__ import annotations

from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.names import read_object_kind, read_object_name
from floodmark.sql.statements import Describe, Show

_SHOWN = (
    "tables", "sources", "sinks", "views", "materialized views", "functions", "aggregates",
    "indexes", "schemas", "columns", "objects", "epochs", "watermarks", "jobs", "parameters", "all",
)  # fmt: skip


def read_show(cursor: Cursor, start: int) -> Show:
    """Read what follows SHOW."""
    if cursor.accept("create"):
        kind = read_object_kind(cursor)
        name = read_object_name(cursor)
        return Show(what="CREATE", kind=kind, name=name, span=cursor.span_from(start))
    if cursor.current.kind is TokenKind.QUOTED:
        hint = "SHOW TABLES, SHOW CREATE TABLE t, SHOW retention"
        raise cursor.syntax_error("what to show", hint=hint)
    what = cursor.name("what to show", any_word=True)
    if what == "materialized":
        cursor.expect("views")
        what = "materialized views"
    if what not in _SHOWN:
        return Show(what=what, is_setting=True, span=cursor.span_from(start))
    within = read_object_name(cursor) if cursor.accept_any("from", "in") else None
    like = cursor.expect_string("a pattern") if cursor.accept("like") else None
    return Show(what=what.upper(), name=within, like=like, span=cursor.span_from(start))


def read_describe(cursor: Cursor, start: int) -> Describe:
    """Read what follows DESCRIBE."""
    kind = read_object_kind(cursor)
    return Describe(name=read_object_name(cursor), kind=kind, span=cursor.span_from(start))
