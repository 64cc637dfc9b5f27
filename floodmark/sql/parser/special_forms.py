"""Forms that look like functions and have a grammar of their own: CASE, CAST, EXTRACT, …."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.calls import make_call, read_arguments, read_call_clauses
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.types import read_data_type


def read_case(cursor: Cursor) -> exp.Expression:
    """Read CASE … END, simple or searched."""
    start = cursor.index
    cursor.expect("case")
    operand = None if cursor.is_at("when") else cursor.expression()
    branches = []
    while cursor.is_at("when"):
        at = cursor.index
        cursor.advance()
        condition = cursor.expression()
        cursor.expect("then")
        branches.append(cursor.node(at, exp.If(this=condition, true=cursor.expression())))
    if not branches:
        raise cursor.syntax_error("WHEN")
    default = cursor.expression() if cursor.accept("else") else None
    cursor.expect("end", hint="a CASE ends with END")
    return cursor.node(start, exp.Case(this=operand, ifs=branches, default=default))


def read_special_form(cursor: Cursor, start: int, word: str) -> exp.Expression | None:
    """Read a form with its own grammar inside the parentheses, or return None."""
    bracket = cursor.peek().value
    if word == "array" and bracket in ("[", "("):
        return _read_array(cursor, start)
    if bracket != "(":
        return None
    match word:
        case "cast":
            return _read_cast(cursor, start)
        case "row":
            cursor.advance()
            return cursor.node(start, exp.Tuple(expressions=read_arguments(cursor)))
        case "exists":
            return _read_exists(cursor, start)
        case "extract":
            return _read_extract(cursor, start)
        case "substring" | "overlay" | "position" | "trim":
            return _read_keyword_call(cursor, start, word)
    return None


def _read_array(cursor: Cursor, start: int) -> exp.Expression:
    cursor.expect("array")
    if cursor.is_at("("):
        at = cursor.index
        cursor.expect("(")
        query = cursor.descend(Cursor.query)
        cursor.expect(")")
        return cursor.node(
            start, exp.Array(expressions=[cursor.node(at, exp.Subquery(this=query))])
        )
    return _read_array_items(cursor, start)


def _read_array_items(cursor: Cursor, start: int) -> exp.Expression:
    cursor.expect("[")
    items: list[exp.Expression] = []
    if not cursor.is_at("]"):
        items = cursor.comma_list(
            lambda cursor: (
                _read_array_items(cursor, cursor.index)
                if cursor.is_at("[")
                else cursor.expression()
            )
        )
    cursor.expect("]")
    return cursor.node(start, exp.Array(expressions=items))


def _read_cast(cursor: Cursor, start: int) -> exp.Expression:
    cursor.expect("cast", "(")
    value = cursor.expression()
    cursor.expect("as", hint="write CAST(value AS type)")
    type_ = read_data_type(cursor)
    cursor.expect(")")
    return cursor.node(start, exp.Cast(this=value, to=type_))


def _read_exists(cursor: Cursor, start: int) -> exp.Expression:
    cursor.expect("exists", "(")
    if not is_at_query(cursor):
        raise cursor.syntax_error("a query")
    query = cursor.descend(Cursor.query)
    cursor.expect(")")
    return cursor.node(start, exp.Exists(this=query))


def _read_extract(cursor: Cursor, start: int) -> exp.Expression:
    cursor.expect("extract", "(")
    at, token = cursor.index, cursor.current
    if token.kind not in (TokenKind.WORD, TokenKind.STRING):
        raise cursor.syntax_error("a field such as EPOCH or HOUR")
    cursor.advance()
    field = cursor.node(at, exp.Var(this=token.value.upper()))
    cursor.expect("from", hint="write EXTRACT(field FROM value)")
    value = cursor.expression()
    cursor.expect(")")
    return cursor.node(start, exp.Extract(this=field, expression=value))


def _read_keyword_call(cursor: Cursor, start: int, word: str) -> exp.Expression:
    cursor.expect(word, "(")
    if word == "trim":
        return _read_trim(cursor, start)
    arguments = [cursor.operand() if word == "position" else cursor.expression()]
    name = word
    if word == "position" and cursor.accept("in"):
        name, arguments = "strpos", [cursor.expression(), *arguments]
    for keyword in {"substring": ("from", "for"), "overlay": ("placing", "from", "for")}.get(
        word, ()
    ):
        if keyword == "for" and len(arguments) == 1 and cursor.is_at("for"):
            arguments.append(exp.Literal.number(1))
        if cursor.accept(keyword):
            arguments.append(cursor.expression())
    while cursor.accept(","):
        arguments.append(cursor.expression())
    cursor.expect(")")
    return read_call_clauses(cursor, start, make_call(cursor, start, name, *arguments))


def _read_trim(cursor: Cursor, start: int) -> exp.Expression:
    side = cursor.accept_any("leading", "trailing", "both")
    name = {"leading": "ltrim", "trailing": "rtrim"}.get(side or "", "btrim")
    arguments: list[exp.Expression] = []
    if not cursor.is_at("from"):
        arguments.append(cursor.expression())
    if cursor.accept("from"):
        arguments.insert(0, cursor.expression())
    while cursor.accept(","):
        arguments.append(cursor.expression())
    cursor.expect(")")
    if len(arguments) > 2:
        raise SqlSyntaxError(
            "E0107",
            "trim takes one string and the characters to remove",
            span=cursor.span_from(start),
            hint="write trim(BOTH 'x' FROM value)",
        )
    return make_call(cursor, start, name, *arguments)
