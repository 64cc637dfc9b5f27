"""The door of the package: text in, statements out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from floodmark.errors import Span, SqlSyntaxError
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.query import read_row_item
from floodmark.sql.parser.statement import GRAMMAR, read_script
from floodmark.sql.statements import Statement
from floodmark.sql.validate import validate

T = TypeVar("T")


def parse_script(text: str, file: str | None = None) -> tuple[Statement, ...]:
    """Parse all statements of a text; an empty text has none.

    Offsets of every span count from the start of `text`. Raises SqlSyntaxError (E01xx) or
    NotSupported (E039x) with the place of the first mistake.

    >>> [type(s).__name__ for s in parse_script("CREATE TABLE t (k INT); SELECT 1")]
    ['CreateTable', 'Select']
    """
    return _parse(text, file, lambda: _script(text, file))


def parse_statement(
    text: str, file: str | None = None, *, line: int = 1, column: int = 1
) -> Statement:
    """Parse a text that holds exactly one statement.

    `line` and `column` are where it starts in its file, as its spans say; blanks stand in for what
    comes before it there.

    >>> parse_statement("SELECT 1", "a.sql", line=7, column=3).span.line
    7
    """
    text = "\n" * (line - 1) + " " * (column - 1) + text
    statements = parse_script(text, file)
    if len(statements) == 1:
        return statements[0]
    if not statements:
        raise SqlSyntaxError(
            "E0122",
            "there is no statement",
            span=Span.at(text, 0, len(text), file),
            hint="write one, such as SELECT 1",
        )
    raise SqlSyntaxError(
        "E0122",
        f"expected one statement, found {len(statements)}",
        span=statements[1].span,
        hint="execute them one at a time",
    )


def parse_expression(text: str, file: str | None = None) -> exp.Expression:
    """Parse a scalar expression on its own.

    >>> parse_expression("a + 1").key
    'add'
    """
    cursor = Cursor(text, file, grammar=GRAMMAR)
    return _parse(text, file, lambda: _whole(cursor, Cursor.expression))


def parse_value(text: str, file: str | None, start: int, end: int) -> exp.Expression:
    """Parse one value of VALUES in a part of a text: an expression, or the word DEFAULT.

    >>> parse_value("VALUES (7, -2)", None, 11, 13).key
    'neg'
    """
    cursor = Cursor(text, file, grammar=GRAMMAR, start=start, end=end)
    return _parse(text, file, lambda: _whole(cursor, read_row_item))


def _script(text: str, file: str | None) -> tuple[Statement, ...]:
    statements = read_script(Cursor(text, file, grammar=GRAMMAR))
    for statement in statements:
        validate(statement)
    return statements


def _whole(cursor: Cursor, read: Callable[[Cursor], T]) -> T:
    result = read(cursor)
    cursor.accept(";")
    if not cursor.is_at_end():
        raise cursor.syntax_error("the end")
    return result


def _parse(text: str, file: str | None, parse: Callable[[], T]) -> T:
    try:
        return parse()
    except RecursionError:
        raise SqlSyntaxError(
            "E0123",
            "the statement is nested too deeply for this call stack",
            span=Span.at(text, 0, min(len(text), 1), file),
            hint="split the query into views or common table expressions",
        ) from None
