"""Type names: every spelling that PostgreSQL users write, to a sqlglot DataType."""

from __future__ import annotations

import difflib

from sqlglot import exp

from floodmark.digits import whole
from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import Token, TokenKind
from floodmark.sql.statements import TypeName
from floodmark.sql.stream import TokenStream

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


class TypeParser(TokenStream):
    """Parses type names."""

    def type_name(self) -> TypeName:
        """Parse a type with its array brackets."""
        start = self.index
        type_ = self.data_type()
        span = self.span_from(start)
        return TypeName(text=span.text, type=type_, span=span)

    def data_type(self) -> exp.DataType:
        """Parse a type to its sqlglot form."""
        return self.nested(self._array_type)

    def _array_type(self) -> exp.DataType:
        start = self.index
        result, dimensions = self._plain_type(), 0
        while (self.at("[") and self.peek().value in ("]",)) or self.at("array"):
            if not self.accept("array"):
                self.advance()
                self.expect("]")
            result = self.node(
                start, exp.DataType(this=_D.ARRAY, expressions=[result], nested=True)
            )
            dimensions += 1
            if dimensions > _MAX_DIMENSIONS:
                raise SqlSyntaxError(
                    "E0111",
                    f"an array of more than {_MAX_DIMENSIONS} dimensions",
                    span=self.span_from(start),
                    hint="put arrays of fewer dimensions into a struct, or use jsonb",
                )
        return result

    def _plain_type(self) -> exp.DataType:
        start, token = self.index, self.current
        if token.kind is not TokenKind.WORD:
            raise self.unexpected("a type")
        kind = TYPES.get(token.value)
        if kind is None:
            raise unknown_type(self, token)
        self.advance()
        match token.value:
            case "struct":
                return self._struct(start)
            case "map":
                return self._map(start)
            case "double":
                self.accept("precision")
            case "char" | "character" if self.accept("varying"):
                kind = _D.VARCHAR
            case "float" if self.at("("):
                bits = self._lengths(start, _D.FLOAT)[0]
                kind = _D.FLOAT if whole(bits.name) <= 24 else _D.DOUBLE
                return self.node(start, exp.DataType(this=kind, expressions=[], nested=False))
            case "real" | "float4":
                return self.node(start, exp.DataType(this=kind, expressions=[], nested=False))
        lengths = self._lengths(start, kind) if kind in _WITH_LENGTH and self.at("(") else []
        if kind is _D.TIMESTAMP and self.accept("with", "time", "zone"):
            kind = _D.TIMESTAMPTZ
        elif kind in (_D.TIMESTAMP, _D.TIME):
            self.accept("without", "time", "zone")
        return self.node(start, exp.DataType(this=kind, expressions=lengths, nested=False))

    def _lengths(self, start: int, kind: exp.DataType.Type) -> list[exp.DataTypeParam]:
        """Parse the numbers behind a type; E0143 for what it cannot have."""
        word = self.tokens[start].value
        lengths = self.parenthesised(self._length)
        count, least, most = _WITH_LENGTH[kind]
        if len(lengths) > count or not all(least <= whole(e.name) <= most for e in lengths):
            raise SqlSyntaxError(
                "E0143",
                f"there is no such {word}",
                span=self.span_from(start),
                hint=f"{word}(n), n from {least} to {most:,}"
                if count == 1
                else f"{word}(digits, digits behind the point)",
            )
        return lengths

    def _length(self) -> exp.DataTypeParam:
        start, token = self.index, self.current
        if token.kind is not TokenKind.NUMBER or not token.value.isdigit():
            raise self.unexpected("a whole number")
        self.advance()
        literal = self.node(start, exp.Literal.number(token.value))
        return self.node(start, exp.DataTypeParam(this=literal))

    def _struct(self, start: int) -> exp.DataType:
        self.expect("<", hint="a struct type is written struct<a int, b text>")
        fields = self.comma_list(self._field)
        self._close_angle()
        return self.node(start, exp.DataType(this=_D.STRUCT, expressions=fields, nested=True))

    def _field(self) -> exp.ColumnDef:
        start = self.index
        name = self.identifier("a field name", any_word=True)
        return self.node(start, exp.ColumnDef(this=name, kind=self.data_type()))

    def _close_angle(self) -> None:
        token = self.current
        if token.value == ">>" and token.kind is TokenKind.OPERATOR:
            middle = token.start + 1
            self.tokens[self.index : self.index + 1] = [
                Token(TokenKind.OPERATOR, ">", token.start, middle),
                Token(TokenKind.OPERATOR, ">", middle, token.end),
            ]
        self.expect(">")

    def _map(self, start: int) -> exp.DataType:
        self.expect("(", hint="a map type is written map(text, int)")
        key = self.data_type()
        self.expect(",")
        value = self.data_type()
        self.expect(")")
        return self.node(start, exp.DataType(this=_D.MAP, expressions=[key, value], nested=True))


def unknown_type(stream: TokenStream, token: Token) -> SqlSyntaxError:
    """Return the error for a word that is no type, with the nearest ones."""
    near = difflib.get_close_matches(token.value, TYPES, n=2, cutoff=0.6)
    return SqlSyntaxError(
        "E0113",
        f'there is no type "{stream.raw(token)}"',
        span=stream.place(token),
        hint=f"did you mean {' or '.join(near)}?" if near else "see the list of types in the docs",
    )
