"""Lists of options, and their names and values."""

from __future__ import annotations

from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.clauses import refuse_twice
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.statements import Option


def read_options(cursor: Cursor, *, bare: bool = False) -> tuple[Option, ...]:
    """Read `( key = value, … )`; a trailing comma is accepted.

    `bare` ones may do without the sign, and without a value, which is then `true`.
    """
    cursor.expect("(")
    if cursor.accept(")"):
        return ()
    options = cursor.comma_list(lambda cursor: _read_option(cursor, bare=bare), trailing=(")",))
    cursor.expect(")", hint="options are written name = 'value', with commas between")
    seen: set[str] = set()
    for option in options:
        if option.name in seen:
            refuse_twice(f"option {option.name}", option.span)
        seen.add(option.name)
    return tuple(options)


def read_with_options(cursor: Cursor) -> tuple[Option, ...] | None:
    """Read `WITH ( … )` when it comes next."""
    if not cursor.is_at("with", "("):
        return None
    cursor.accept("with")
    return read_options(cursor)


def _read_option(cursor: Cursor, *, bare: bool) -> Option:
    start = cursor.index
    name = read_option_name(cursor)
    if not bare:
        cursor.expect("=", hint="options are written name = 'value'")
    signed = bare and cursor.accept("=")
    ended = bare and not signed and (cursor.is_at(",") or cursor.is_at(")"))
    value = "true" if ended else read_option_value(cursor)
    return Option(name=name, value=value, span=cursor.span_from(start))


def read_option_name(cursor: Cursor) -> str:
    """Read the name of an option or a setting, in lower case."""
    if cursor.current.kind is TokenKind.STRING:
        return cursor.advance().value.lower()
    name = cursor.name("an option name", any_word=True)
    while cursor.accept("."):
        name += "." + cursor.name("an option name", any_word=True)
    return name.lower()


def read_option_value(cursor: Cursor) -> str:
    """Read a string, a number or words with dots between, as text."""
    token = cursor.current
    if token.kind in (TokenKind.STRING, TokenKind.NUMBER):
        return cursor.advance().value
    if token.kind is TokenKind.OPERATOR and token.value in ("-", "+"):
        cursor.advance()
        if cursor.current.kind is not TokenKind.NUMBER:
            raise cursor.syntax_error("a number")
        return token.value.replace("+", "") + cursor.advance().value
    if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
        raise cursor.syntax_error("a value")
    value = cursor.advance().value
    while cursor.is_at(".") and cursor.peek().kind is TokenKind.WORD:
        cursor.advance()
        value += "." + cursor.advance().value
    return value
