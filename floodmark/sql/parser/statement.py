"""Statements by their first words, and the whole grammar."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import NoReturn

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.alter import read_alter
from floodmark.sql.parser.copy import read_copy
from floodmark.sql.parser.create import read_create
from floodmark.sql.parser.cursor import Cursor, Grammar
from floodmark.sql.parser.dml import read_delete, read_insert, read_update
from floodmark.sql.parser.drop import read_drop
from floodmark.sql.parser.elsewhere import refuse_elsewhere
from floodmark.sql.parser.explain import read_explain
from floodmark.sql.parser.expressions import read_expression, read_operand
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.query import read_query
from floodmark.sql.parser.set import read_set
from floodmark.sql.parser.show import read_describe, read_show
from floodmark.sql.parser.transaction import (
    read_begin,
    read_commit,
    read_flush,
    read_rollback,
    read_start,
)
from floodmark.sql.statements import Select, Statement
from floodmark.sql.words import FIRST_WORDS


def read_script(cursor: Cursor) -> tuple[Statement, ...]:
    """Read statements between semicolons; only the last semicolon may be missing."""
    statements = []
    while cursor.current.kind is not TokenKind.END:
        if cursor.is_at(";"):
            _refuse_empty(cursor)
        statements.append(read_single(cursor))
        cursor.accept(";")
    return tuple(statements)


def read_single(cursor: Cursor) -> Statement:
    """Read one statement, behind which nothing but its semicolon stands."""
    statement = cursor.statement()
    if not cursor.is_at_end():
        _refuse_stray(cursor)
    return statement


def _refuse_empty(cursor: Cursor) -> NoReturn:
    raise SqlSyntaxError(
        "E0105",
        "an empty statement",
        span=cursor.place(cursor.current),
        hint="remove the semicolon",
    )


def _refuse_stray(cursor: Cursor) -> NoReturn:
    token = cursor.current
    hint = None
    if token.kind is TokenKind.WORD and token.value in FIRST_WORDS:
        hint = "is a semicolon missing in front of it?"
    elif token.kind is TokenKind.WORD and token.value == "into":
        hint = "write CREATE TABLE x AS SELECT …, or INSERT INTO x SELECT …"
    raise cursor.syntax_error("the end of the statement", hint=hint)


STATEMENTS: dict[str, Callable[[Cursor, int], Statement]] = {
    "create": read_create,
    "alter": read_alter,
    "drop": read_drop,
    "insert": read_insert,
    "update": read_update,
    "delete": read_delete,
    "copy": read_copy,
    "begin": read_begin,
    "start": read_start,
    "commit": read_commit,
    "end": read_commit,
    "rollback": read_rollback,
    "abort": read_rollback,
    "flush": read_flush,
    "explain": read_explain,
    "show": read_show,
    "describe": read_describe,
    "set": read_set,
}
"""What reads a statement behind its first word; a query starts with one of three more."""


def read_statement(cursor: Cursor) -> Statement:
    """Read one statement up to its semicolon."""
    start, token = cursor.index, cursor.current
    if is_at_query(cursor):
        return _read_query_statement(cursor, start)
    if token.kind is not TokenKind.WORD:
        raise cursor.syntax_error("a statement")
    read = STATEMENTS.get(token.value)
    if read is None:
        _refuse_unknown(cursor)
    cursor.advance()
    return read(cursor, start)


def _read_query_statement(cursor: Cursor, start: int) -> Statement:
    query = cursor.query()
    if cursor.is_at("emit", "on"):
        raise cursor.syntax_error(
            "the end of the statement",
            hint="EMIT ON WINDOW CLOSE belongs to a materialized view or sink",
        )
    return Select(query=query, span=cursor.span_from(start))


def _refuse_unknown(cursor: Cursor) -> NoReturn:
    token = cursor.current
    if token.kind is TokenKind.WORD:
        refuse_elsewhere(token.value, span=cursor.place(token))
    near = difflib.get_close_matches(token.value, FIRST_WORDS, n=1, cutoff=0.6)
    raise SqlSyntaxError(
        "E0121",
        f'no statement starts with "{cursor.raw(token)}"',
        span=cursor.place(token),
        hint=f"did you mean {near[0].upper()}?"
        if near
        else f"there is {', '.join(FIRST_WORDS).upper()}",
    )


GRAMMAR = Grammar(read_expression, read_operand, read_query, read_statement)
