"""Columns and function calls with their clauses."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.ordering import read_order_clause
from floodmark.sql.parser.windows import read_window_body
from floodmark.sql.words import RESERVED

_BARE_CALLS = frozenset(
    [
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "localtime",
        "current_user",
        "session_user",
        "current_role",
        "current_catalog",
        "current_schema",
    ]
)
_CALLABLE_RESERVED = frozenset({"left", "right"})


def read_call_or_column(cursor: Cursor) -> exp.Expression:
    """Read `a`, `a.b`, `a.b.c`, `a.*` or `f(…)` with all its clauses."""
    start, token = cursor.index, cursor.current
    word = token.value if token.kind is TokenKind.WORD else ""
    if word in _BARE_CALLS and cursor.peek().value != "(":
        cursor.advance()
        return cursor.node(start, exp.Anonymous(this=word, expressions=[]))
    if cursor.peek().value == "(" and cursor.peek().kind is TokenKind.OPERATOR:
        if word in RESERVED and word not in _CALLABLE_RESERVED:
            cursor.identifier("an expression")
        cursor.advance()
        return read_call(cursor, start, token.value)
    parts = [cursor.identifier("an expression")]
    while cursor.is_at(".") and len(parts) < 4:
        if cursor.peek().value == "*":
            return _read_qualified_star(cursor, start, parts)
        cursor.advance()
        if cursor.peek().value == "(" and cursor.current.kind is TokenKind.WORD:
            _check_function_schema(cursor, start, parts)
            return read_call(cursor, start, cursor.advance().value)
        parts.append(cursor.identifier("a column name", any_word=True))
    names = ("this", "table", "db", "catalog")
    return cursor.node(start, exp.Column(**dict(zip(names, reversed(parts), strict=False))))


def _check_function_schema(cursor: Cursor, start: int, parts: list[exp.Identifier]) -> None:
    if [part.name for part in parts] not in (["pg_catalog"], ["public"]):
        raise SqlSyntaxError(
            "E0130",
            "functions have no schema",
            span=cursor.span_from(start),
            hint="leave out the schema before the function's name",
        )


def _read_qualified_star(cursor: Cursor, start: int, parts: list[exp.Identifier]) -> exp.Expression:
    cursor.expect(".")
    star_at = cursor.index
    cursor.expect("*")
    star = cursor.node(star_at, exp.Star())
    names = ("table", "db", "catalog")
    return cursor.node(
        start, exp.Column(this=star, **dict(zip(names, reversed(parts), strict=False)))
    )


def read_call(cursor: Cursor, start: int, name: str) -> exp.Expression:
    """Read the arguments behind a function's name, and WITHIN GROUP, FILTER, OVER."""
    arguments = read_arguments(cursor)
    result: exp.Expression = exp.Anonymous(this=name, expressions=arguments)
    return read_call_clauses(cursor, start, cursor.node(start, result))


def make_call(cursor: Cursor, start: int, name: str, *arguments: exp.Expression) -> exp.Expression:
    """Make a call of a form that has keywords inside."""
    return cursor.node(start, exp.Anonymous(this=name, expressions=list(arguments)))


def read_arguments(cursor: Cursor) -> list[exp.Expression]:
    """Read `( [DISTINCT] argument, … [ORDER BY …] )`, also none and `*`."""
    cursor.expect("(")
    if cursor.accept(")"):
        return []
    if cursor.is_at("*"):
        start = cursor.index
        cursor.advance()
        cursor.expect(")")
        return [cursor.node(start, exp.Star())]
    start = cursor.index
    distinct = cursor.accept("distinct")
    if not distinct:
        cursor.accept("all")
    arguments = [] if cursor.is_at("order") else cursor.comma_list(read_subquery_or_expression)
    if distinct:
        arguments = [cursor.node(start, exp.Distinct(expressions=arguments))]
    order_at = cursor.index
    order = read_order_clause(cursor)
    if order is not None:
        order.set("this", arguments.pop() if arguments else None)
        arguments.append(cursor.node(order_at, order))
    nulls = _read_nulls(cursor)
    cursor.expect(")")
    if nulls is not None:
        arguments = [nulls(this=arguments[0]), *arguments[1:]]
    return arguments


def read_subquery_or_expression(cursor: Cursor) -> exp.Expression:
    """Read a query without its own parentheses, or an expression."""
    if is_at_query(cursor) and not cursor.is_at("("):
        start = cursor.index
        return cursor.node(start, exp.Subquery(this=cursor.descend(Cursor.query)))
    return cursor.expression()


def _read_nulls(cursor: Cursor) -> type[exp.Expression] | None:
    if cursor.accept("ignore", "nulls"):
        return exp.IgnoreNulls  # type: ignore[no-any-return]
    if cursor.accept("respect", "nulls"):
        return exp.RespectNulls  # type: ignore[no-any-return]
    return None


def read_call_clauses(cursor: Cursor, start: int, call: exp.Expression) -> exp.Expression:
    """Read WITHIN GROUP, FILTER, IGNORE NULLS and OVER behind a call."""
    if cursor.accept("within", "group"):
        cursor.expect("(")
        order = read_order_clause(cursor)
        if order is None:
            raise cursor.syntax_error("ORDER BY")
        cursor.expect(")")
        call = cursor.node(start, exp.WithinGroup(this=call, expression=order))
    if cursor.accept("filter", "("):
        at = cursor.index
        cursor.expect("where")
        where = cursor.node(at, exp.Where(this=cursor.expression()))
        cursor.expect(")")
        call = cursor.node(start, exp.Filter(this=call, expression=where))
    nulls = _read_nulls(cursor)
    if nulls is not None:
        call = cursor.node(start, nulls(this=call))
    if cursor.is_at("over") and (
        cursor.peek().value == "(" or cursor.peek().kind is TokenKind.WORD
    ):
        cursor.advance()
        return _read_over_clause(cursor, start, call)
    return call


def _read_over_clause(cursor: Cursor, start: int, call: exp.Expression) -> exp.Expression:
    if not cursor.is_at("("):
        window = exp.Window(this=call, alias=cursor.identifier("a window name"), over="OVER")
        return cursor.node(start, window)
    return cursor.node(start, exp.Window(this=call, over="OVER", **read_window_body(cursor)))
