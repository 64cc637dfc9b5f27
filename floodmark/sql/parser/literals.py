"""Intervals, and literals with their type in front."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.types import read_data_type

_UNITS = (
    "microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter",
    "year", "decade", "century",
)  # fmt: skip
_SPANS = {
    "YEAR": ("MONTH",), "DAY": ("HOUR", "MINUTE", "SECOND"), "HOUR": ("MINUTE", "SECOND"),
    "MINUTE": ("SECOND",),
}  # fmt: skip


def is_at_typed_literal(cursor: Cursor) -> bool:
    """Look whether `type 'text'` follows: a type word, its suffixes, then a string."""
    if cursor.peek().kind is TokenKind.STRING:
        return True
    words = {"precision", "varying", "with", "without", "time", "zone"}
    ahead = 1
    while cursor.peek(ahead).kind is TokenKind.WORD and cursor.peek(ahead).value in words:
        ahead += 1
    if ahead > 1 or cursor.current.value not in ("numeric", "decimal", "timestamp", "varchar"):
        return ahead > 1 and cursor.peek(ahead).kind is TokenKind.STRING
    if cursor.peek(ahead).value != "(":
        return False
    while cursor.peek(ahead).value not in (")", ";", ""):
        ahead += 1
    return cursor.peek(ahead + 1).kind is TokenKind.STRING


def read_typed_literal(cursor: Cursor) -> exp.Expression:
    """Read `type 'text'`: a cast of the text."""
    start = cursor.index
    type_ = read_data_type(cursor)
    if cursor.current.kind is not TokenKind.STRING:
        raise cursor.syntax_error("a string after the type")
    text = cursor.index
    literal = cursor.node(text, exp.Literal.string(cursor.advance().value))
    return cursor.node(start, exp.Cast(this=literal, to=type_))


def read_interval(cursor: Cursor) -> exp.Expression:
    """Read INTERVAL 'text' [unit [TO unit]]; the text is not taken apart."""
    start = cursor.index
    cursor.expect("interval")
    text = cursor.index
    literal = cursor.node(text, exp.Literal.string(cursor.advance().value))
    unit = _read_unit(cursor)
    if unit is not None and cursor.accept("to"):
        last = _read_unit(cursor)
        if last is None:
            raise cursor.syntax_error("a unit of time after TO")
        if last.name not in _SPANS.get(unit.name, ()):
            raise SqlSyntaxError(
                "E0137",
                f"there is no interval {unit.name} TO {last.name}",
                span=cursor.span_from(start),
                hint="YEAR TO MONTH, DAY TO HOUR, MINUTE or SECOND, HOUR TO MINUTE or SECOND, "
                "MINUTE TO SECOND; or a unit alone",
            )
        unit = exp.IntervalSpan(this=unit, expression=last)
    return cursor.node(start, exp.Interval(this=literal, unit=unit))


def _read_unit(cursor: Cursor) -> exp.Var | None:
    token = cursor.current
    singular = "century" if token.value == "centuries" else token.value.removesuffix("s")
    if token.kind is not TokenKind.WORD or singular not in _UNITS:
        return None
    start = cursor.index
    cursor.advance()
    return cursor.node(start, exp.Var(this=singular.upper()))
