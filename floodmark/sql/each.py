"""All statements of a text, also those behind a mistake: what a linter reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from floodmark.errors import FloodmarkError, Span, SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.statement import GRAMMAR, read_single
from floodmark.sql.statements import Statement
from floodmark.sql.validate import validate

_DECLARED = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:source|table|materialized\s+view|view|sink|function"
    r"|aggregate|index)\s+(?:if\s+not\s+exists\s+)?\"?([\w.]+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RowAttempt:
    """A statement, or the mistake that stands where one should; `span` reaches over its text."""

    span: Span
    statement: Statement | None = None
    error: FloodmarkError | None = None

    @property
    def declares(self) -> str | None:
        """Return the name that a CREATE with a mistake would give, None where it has none."""
        match = _DECLARED.match(self.span.text)
        return None if match is None else match.group(1).lower()


def each_statement(text: str, file: str | None = None) -> Iterator[RowAttempt]:
    """Yield the statements of a text; behind a mistake it goes on with the next statement.

    That is what follows a semicolon, or a CREATE where a semicolon is missing. A text that cannot
    be cut into words is one mistake.

    >>> [a.error and a.error.code for a in each_statement("SELEC 1; SELECT 2")]
    ['E0121', None]
    """
    try:
        cursor = Cursor(text, file, grammar=GRAMMAR)
    except SqlSyntaxError as error:
        yield RowAttempt(error.span or Span.at(text, 0, len(text), file), error=error)
        return
    while cursor.current.kind is not TokenKind.END:
        yield _attempt(cursor)
        cursor.accept(";")


def _attempt(cursor: Cursor) -> RowAttempt:
    start = cursor.index
    try:
        statement = read_single(cursor)
        validate(statement)
    except FloodmarkError as error:
        _skip(cursor, start)
        return RowAttempt(cursor.span_from(start), error=error)
    except RecursionError:
        _skip(cursor, start)
        span = cursor.span_from(start)
        nested = SqlSyntaxError(
            "E0123",
            "the statement is nested too deeply for this call stack",
            span=span,
            hint="split the query into views or common table expressions",
        )
        return RowAttempt(span, error=nested)
    return RowAttempt(cursor.span_from(start), statement=statement)


def _skip(cursor: Cursor, start: int) -> None:
    """Go to the end of the statement: a semicolon, or a CREATE that begins the next one."""
    if cursor.index == start:
        cursor.advance()
    while not (cursor.is_at_end() or cursor.is_at("create")):
        cursor.advance()
