"""EXPLAIN."""

from __future__ import annotations

from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.names import read_object_kind, read_object_name
from floodmark.sql.statements import Explain, ExplainFormat
from floodmark.sql.words import FIRST_WORDS


def read_explain(cursor: Cursor, start: int) -> Explain:
    """Read what follows EXPLAIN."""
    format_, state = ExplainFormat.TEXT, False
    if cursor.is_at_any("analyze", "verbose") and cursor.peek().kind is TokenKind.WORD:
        hint = "EXPLAIN tells the plan, EXPLAIN (STATE) v the sizes of v's tables; "
        hint += "floodmark status tells how long epochs took"
        raise cursor.syntax_error("a query, a CREATE statement or a name", hint=hint)
    if cursor.is_at("(") and not is_at_query(cursor):
        cursor.expect("(")
        while not cursor.accept(")"):
            word = cursor.accept_any("format", "state")
            if word is None:
                hint = "the plan shows the changelog mode of each operator"
                raise cursor.syntax_error(
                    "FORMAT or STATE", hint=hint if cursor.is_at("changelog") else None
                )
            if word == "format":
                format_ = _read_format(cursor)
            else:
                state = True
            if not cursor.is_at(")"):
                cursor.expect(",")
    token = cursor.current
    if token.kind is TokenKind.WORD and token.value in FIRST_WORDS:
        inner = cursor.statement()
        return Explain(statement=inner, format=format_, state=state, span=cursor.span_from(start))
    kind, name = read_object_kind(cursor), read_object_name(cursor, "a statement or a name")
    return Explain(name=name, kind=kind, format=format_, state=state, span=cursor.span_from(start))


def _read_format(cursor: Cursor) -> ExplainFormat:
    word = cursor.accept_any("text", "json", "html")
    if word is None:
        raise cursor.syntax_error("TEXT, JSON or HTML")
    return ExplainFormat[word.upper()]
