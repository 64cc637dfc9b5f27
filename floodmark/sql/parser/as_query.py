"""The query of a definition, and what stands behind it."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from floodmark.errors import Span
from floodmark.sql.parser.clauses import refuse_twice, set_clause
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.options import read_with_options


def _read_emit(cursor: Cursor) -> Span | None:
    """Read EMIT ON WINDOW CLOSE and return its place, None for EMIT IMMEDIATELY."""
    start = cursor.index
    if cursor.accept("emit", "immediately"):
        return None
    if not cursor.is_at("emit", "on"):
        raise cursor.syntax_error("EMIT ON WINDOW CLOSE")
    cursor.expect("emit", "on", "window", "close")
    return cursor.span_from(start)


def read_as_query(cursor: Cursor, what: str) -> exp.Expression:
    """Read `AS query` in the definition of a `what`."""
    cursor.expect("as", hint=f"write CREATE {what} name AS SELECT …")
    if not is_at_query(cursor):
        raise cursor.syntax_error("a query", hint="a query starts with SELECT, WITH or VALUES")
    return cursor.query()


def read_view_tail(cursor: Cursor) -> dict[str, Any]:
    """Read EMIT ON WINDOW CLOSE and WITH options behind a query, in either order."""
    tail: dict[str, Any] = {}
    while True:
        start = cursor.index
        if cursor.is_at("emit"):
            span = _read_emit(cursor)
            if "emit_on_window_close" in tail:
                refuse_twice("EMIT ON WINDOW CLOSE", span)
            tail.update(emit_on_window_close=span is not None, emit_span=span)
        elif (options := read_with_options(cursor)) is not None:
            set_clause(cursor, tail, "options", options, start)
        else:
            return tail
