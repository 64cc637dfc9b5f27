"""CREATE FUNCTION and CREATE AGGREGATE."""

from __future__ import annotations

from typing import Any

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.clauses import set_clause
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.options import read_with_options
from floodmark.sql.parser.types import TYPES, read_type_name
from floodmark.sql.statements import (
    CreateAggregate,
    CreateFunction,
    Parameter,
    TypeName,
    Volatility,
)


def read_create_function(cursor: Cursor, start: int, head: dict[str, Any]) -> CreateFunction:
    """Read `(parameters) RETURNS {type | TABLE (columns)}` and the clauses."""
    parameters = read_parameters(cursor)
    returns: TypeName | None = None
    table: tuple[Parameter, ...] = ()
    cursor.expect("returns")
    if cursor.accept("table"):
        table = tuple(cursor.paren_list(_read_table_column))
    else:
        returns = read_type_name(cursor)
    facts = _read_facts(cursor)
    return CreateFunction(
        **head,
        **facts,
        parameters=parameters,
        returns=returns,
        returns_table=table,
        span=cursor.span_from(start),
    )


def read_create_aggregate(cursor: Cursor, start: int, head: dict[str, Any]) -> CreateAggregate:
    """Read `(parameters) RETURNS type` and the clauses."""
    parameters = read_parameters(cursor)
    cursor.expect("returns")
    returns = read_type_name(cursor)
    facts = _read_facts(cursor)
    return CreateAggregate(
        **head, **facts, parameters=parameters, returns=returns, span=cursor.span_from(start)
    )


def read_parameters(cursor: Cursor) -> tuple[Parameter, ...]:
    """Read `([name] type, …)`."""
    if cursor.accept("(", ")"):
        return ()
    return tuple(cursor.paren_list(_read_parameter))


def _read_parameter(cursor: Cursor) -> Parameter:
    start = cursor.index
    named = cursor.current.value not in TYPES or (
        cursor.peek().kind is TokenKind.WORD and cursor.peek().value in TYPES
    )
    name = cursor.name("a parameter") if named and cursor.peek().value not in (",", ")") else None
    return Parameter(name=name, type=read_type_name(cursor), span=cursor.span_from(start))


def _read_table_column(cursor: Cursor) -> Parameter:
    start = cursor.index
    name = cursor.name("a column name")
    return Parameter(name=name, type=read_type_name(cursor), span=cursor.span_from(start))


def _read_facts(cursor: Cursor) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    while not cursor.is_at_end():
        start = cursor.index
        if cursor.accept("language"):
            set_clause(cursor, facts, "language", cursor.name("a language"), start)
        elif (word := cursor.accept_any("immutable", "stable", "volatile")) is not None:
            set_clause(cursor, facts, "volatility", Volatility[word.upper()], start)
        elif cursor.accept("as"):
            set_clause(cursor, facts, "body", cursor.expect_string("the body"), start)
        elif (options := read_with_options(cursor)) is not None:
            set_clause(cursor, facts, "options", options, start)
        else:
            raise cursor.syntax_error("LANGUAGE, IMMUTABLE, STABLE, VOLATILE or AS")
    for clause, what in (("language", "LANGUAGE python"), ("body", "AS 'module.function'")):
        if clause not in facts:
            raise SqlSyntaxError(
                "E0120",
                f"a function needs {clause.upper() if clause == 'language' else 'a body'}",
                span=cursor.place(cursor.previous),
                hint=f"add {what}",
            )
    return facts
