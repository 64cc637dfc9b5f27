"""ORDER BY."""

from __future__ import annotations

from sqlglot import exp

from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import check_not_empty


def read_order_clause(cursor: Cursor) -> exp.Order | None:
    """Read ORDER BY when it comes next."""
    start = cursor.index
    if not cursor.accept("order"):
        return None
    cursor.expect("by")
    check_not_empty(cursor, "ORDER BY", start)
    return cursor.node(start, exp.Order(expressions=cursor.comma_list(read_sort_key)))


def read_sort_key(cursor: Cursor) -> exp.Ordered:
    """Read `expression [ASC | DESC] [NULLS FIRST | LAST]`."""
    start = cursor.index
    value = cursor.expression()
    descending = cursor.accept_any("asc", "desc") == "desc"
    nulls_first = descending
    if cursor.accept("nulls"):
        word = cursor.accept_any("first", "last")
        if word is None:
            raise cursor.syntax_error("FIRST or LAST")
        nulls_first = word == "first"
    ordered = exp.Ordered(this=value, desc=descending, nulls_first=nulls_first)
    return cursor.node(start, ordered)
