"""Type names: every spelling that PostgreSQL users write, to a sqlglot DataType."""

from __future__ import annotations

import difflib

from sqlglot import exp

from floodmark.digits import whole
from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import Token, TokenKind
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.statements import TypeName

_D = exp.DataType.Type
TYPES = {
    "boolean": _D.BOOLEAN, "bool": _D.BOOLEAN,
    "smallint": _D.SMALLINT, "int2": _D.SMALLINT,
    "integer": _D.INT, "int": _D.INT, "int4": _D.INT,
    "bigint": _D.BIGINT, "int8": _D.BIGINT,
    "numeric": _D.DECIMAL, "decimal": _D.DECIMAL, "dec": _D.DECIMAL,
    "real": _D.FLOAT, "float4": _D.FLOAT,
    "double": _D.DOUBLE, "float8": _D.DOUBLE, "float": _D.DOUBLE,
    "varchar": _D.VARCHAR, "text": _D.TEXT, "string": _D.TEXT, "bpchar": _D.VARCHAR,
    "char": _D.CHAR, "character": _D.CHAR,
    "bytea": _D.VARBINARY, "date": _D.DATE, "time": _D.TIME, "timestamp": _D.TIMESTAMP,
    "timestamptz": _D.TIMESTAMPTZ, "interval": _D.INTERVAL, "jsonb": _D.JSONB, "json": _D.JSON,
    "uuid": _D.UUID, "struct": _D.STRUCT, "map": _D.MAP,
}  # fmt: skip
_MAX_DIMENSIONS = 6
_DIGITS, _LENGTH = (1, 0, 6), (1, 1, 10_485_760)
_WITH_LENGTH = {
    _D.DECIMAL: (2, 0, 10_000), _D.VARCHAR: _LENGTH, _D.CHAR: _LENGTH, _D.FLOAT: (1, 1, 53),
    _D.TIME: _DIGITS, _D.TIMESTAMP: _DIGITS, _D.TIMESTAMPTZ: _DIGITS,
}  # fmt: skip
"""How many numbers stand behind a type at most, the smallest and the largest, as in PostgreSQL."""


def read_type_name(cursor: Cursor) -> TypeName:
    """Read a type with its array brackets."""
    start = cursor.index
    type_ = read_data_type(cursor)
    span = cursor.span_from(start)
    return TypeName(text=span.text, type=type_, span=span)


def read_data_type(cursor: Cursor) -> exp.DataType:
    """Read a type to its sqlglot form."""
    return cursor.descend(_read_array_type)


def _read_array_type(cursor: Cursor) -> exp.DataType:
    start = cursor.index
    result, dimensions = _read_plain_type(cursor), 0
    while (cursor.is_at("[") and cursor.peek().value in ("]",)) or cursor.is_at("array"):
        if not cursor.accept("array"):
            cursor.advance()
            cursor.expect("]")
        result = cursor.node(start, exp.DataType(this=_D.ARRAY, expressions=[result], nested=True))
        dimensions += 1
        if dimensions > _MAX_DIMENSIONS:
            raise SqlSyntaxError(
                "E0111",
                f"an array of more than {_MAX_DIMENSIONS} dimensions",
                span=cursor.span_from(start),
                hint="put arrays of fewer dimensions into a struct, or use jsonb",
            )
    return result


def _read_plain_type(cursor: Cursor) -> exp.DataType:
    start, token = cursor.index, cursor.current
    if token.kind is not TokenKind.WORD:
        raise cursor.syntax_error("a type")
    kind = TYPES.get(token.value)
    if kind is None:
        raise _unknown_type(cursor, token)
    cursor.advance()
    match token.value:
        case "struct":
            return _read_struct(cursor, start)
        case "map":
            return _read_map(cursor, start)
        case "double":
            cursor.accept("precision")
        case "char" | "character" if cursor.accept("varying"):
            kind = _D.VARCHAR
        case "float" if cursor.is_at("("):
            bits = _read_lengths(cursor, start, _D.FLOAT)[0]
            kind = _D.FLOAT if whole(bits.name) <= 24 else _D.DOUBLE
            return cursor.node(start, exp.DataType(this=kind, expressions=[], nested=False))
        case "real" | "float4":
            return cursor.node(start, exp.DataType(this=kind, expressions=[], nested=False))
    lengths = (
        _read_lengths(cursor, start, kind) if kind in _WITH_LENGTH and cursor.is_at("(") else []
    )
    if kind is _D.TIMESTAMP and cursor.accept("with", "time", "zone"):
        kind = _D.TIMESTAMPTZ
    elif kind in (_D.TIMESTAMP, _D.TIME):
        cursor.accept("without", "time", "zone")
    return cursor.node(start, exp.DataType(this=kind, expressions=lengths, nested=False))


def _read_lengths(cursor: Cursor, start: int, kind: exp.DataType.Type) -> list[exp.DataTypeParam]:
    """Read the numbers behind a type; E0143 for numbers that it cannot have."""
    word = cursor.tokens[start].value
    lengths = cursor.paren_list(_read_length)
    count, least, most = _WITH_LENGTH[kind]
    if len(lengths) > count or not all(least <= whole(e.name) <= most for e in lengths):
        raise SqlSyntaxError(
            "E0143",
            f"there is no such {word}",
            span=cursor.span_from(start),
            hint=f"{word}(n), n from {least} to {most:,}"
            if count == 1
            else f"{word}(digits, digits behind the point)",
        )
    return lengths


def _read_length(cursor: Cursor) -> exp.DataTypeParam:
    start, token = cursor.index, cursor.current
    if token.kind is not TokenKind.NUMBER or not token.value.isdigit():
        raise cursor.syntax_error("a whole number")
    cursor.advance()
    literal = cursor.node(start, exp.Literal.number(token.value))
    return cursor.node(start, exp.DataTypeParam(this=literal))


def _read_struct(cursor: Cursor, start: int) -> exp.DataType:
    cursor.expect("<", hint="a struct type is written struct<a int, b text>")
    fields = cursor.comma_list(_read_field)
    _close_angle(cursor)
    return cursor.node(start, exp.DataType(this=_D.STRUCT, expressions=fields, nested=True))


def _read_field(cursor: Cursor) -> exp.ColumnDef:
    start = cursor.index
    name = cursor.identifier("a field name", any_word=True)
    return cursor.node(start, exp.ColumnDef(this=name, kind=read_data_type(cursor)))


def _close_angle(cursor: Cursor) -> None:
    token = cursor.current
    if token.value == ">>" and token.kind is TokenKind.OPERATOR:
        middle = token.start + 1
        cursor.tokens[cursor.index : cursor.index + 1] = [
            Token(TokenKind.OPERATOR, ">", token.start, middle),
            Token(TokenKind.OPERATOR, ">", middle, token.end),
        ]
    cursor.expect(">")


def _read_map(cursor: Cursor, start: int) -> exp.DataType:
    cursor.expect("(", hint="a map type is written map(text, int)")
    key = read_data_type(cursor)
    cursor.expect(",")
    value = read_data_type(cursor)
    cursor.expect(")")
    return cursor.node(start, exp.DataType(this=_D.MAP, expressions=[key, value], nested=True))


def _unknown_type(cursor: Cursor, token: Token) -> SqlSyntaxError:
    """Return the error for a word that is no type, with the nearest ones."""
    near = difflib.get_close_matches(token.value, TYPES, n=2, cutoff=0.6)
    return SqlSyntaxError(
        "E0113",
        f'there is no type "{cursor.raw(token)}"',
        span=cursor.place(token),
        hint=f"did you mean {' or '.join(near)}?" if near else "see the list of types in the docs",
    )
