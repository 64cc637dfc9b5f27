"""Clauses that stand once in a definition."""

from __future__ import annotations

from typing import Any

from floodmark.errors import Span, SqlSyntaxError
from floodmark.sql.parser.cursor import Cursor


def refuse_twice(clause: str, span: Span | None) -> None:
    """Raise that a clause stands twice in a definition."""
    raise SqlSyntaxError("E0118", f"{clause} is given twice", span=span, hint="keep one of them")


def set_clause(cursor: Cursor, clauses: dict[str, Any], key: str, value: Any, start: int) -> None:
    """Add a clause that begins at token `start`; E0118 where it is there already."""
    if clauses.get(key):
        clause = "ON CONFLICT" if key == "conflict" else key.replace("_", " ").upper()
        refuse_twice(clause, cursor.span_from(start))
    clauses[key] = value
