"""Names of objects and of their columns."""

from __future__ import annotations

from typing import NoReturn

from floodmark.errors import Span, SqlSyntaxError
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.statements import KindWord, ObjectName


def refuse_long_name(cursor: Cursor, start: int) -> NoReturn:
    """Raise E0116 for a name of more than two parts."""
    raise SqlSyntaxError(
        "E0116",
        "a name has at most one schema before it",
        span=cursor.span_from(start),
        hint="write schema.name",
    )


def read_object_name(cursor: Cursor, what: str = "a name") -> ObjectName:
    """Read `[schema.]name`."""
    start = cursor.index
    parts = [cursor.name(what)]
    while cursor.accept("."):
        parts.append(cursor.name(what, any_word=True))
    if len(parts) > 2:
        refuse_long_name(cursor, start)
    schema = parts[0] if len(parts) == 2 else None
    return ObjectName(name=parts[-1], schema=schema, span=cursor.span_from(start))


def read_names(cursor: Cursor) -> tuple[str, ...]:
    """Read `(name, …)` when it comes next."""
    return tuple(cursor.paren_list(Cursor.name)) if cursor.is_at("(") else ()


def read_object_kind(cursor: Cursor) -> KindWord | None:
    """Read a kind word such as MATERIALIZED VIEW when it comes next."""
    for kind in KindWord:
        words = kind.value.lower().split()
        if cursor.is_at(*words) and cursor.peek(len(words)).value not in ("resume", "rebase"):
            cursor.accept(*words)
            return kind
    return None


def read_placed_name(cursor: Cursor) -> tuple[str, Span]:
    """Read a name and return it with its place."""
    at = cursor.index
    return cursor.name(), cursor.span_from(at)
