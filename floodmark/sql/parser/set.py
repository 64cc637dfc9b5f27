"""SET."""

from __future__ import annotations

from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.options import read_option_name, read_option_value
from floodmark.sql.statements import SetOption


def read_set(cursor: Cursor, start: int) -> SetOption:
    """Read what follows SET."""
    if cursor.is_at("local") and cursor.peek().value not in ("=", "to"):
        hint = "write SET, and SET … = DEFAULT when it is to end"
        raise cursor.syntax_error(
            "the name of a setting: none ends with its transaction", hint=hint
        )
    if cursor.peek().value not in ("=", "to"):
        cursor.accept("session")
    name = read_option_name(cursor)
    if cursor.accept_any("=", "to") is None:
        raise cursor.syntax_error("= or TO", hint="write SET name = value")
    if cursor.accept("default"):
        return SetOption(name=name, value=None, span=cursor.span_from(start))
    value = read_option_value(cursor)
    return SetOption(name=name, value=value, span=cursor.span_from(start))
