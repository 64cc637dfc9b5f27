"""Long VALUES of an INSERT: each constant read as the type of its column, without a tree for it.

What a column's reader does not know is read as any other expression, with its place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from floodmark import digits
from floodmark.plan.bind.assignment import assign, is_default
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.build.outputs import ColumnTypes
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.casts import BITS, from_text
from floodmark.scalar.functions import RowError
from floodmark.scalar.functions.arithmetic import fit_decimal
from floodmark.scalar.types import BOOLEAN, VARCHAR, Kind, SqlType
from floodmark.sql.constant_rows import cell_at, rows_of
from floodmark.sql.nodes import ConstantRows
from floodmark.sql.parse import parse_value

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_STRING = re.compile(r"'[^']*(?:''[^']*)*'")
_DIGITS = 30
"""A number of so many characters is a NUMERIC however it is written."""
_FROM_TEXT = frozenset({
    Kind.VARCHAR, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE,
    Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.INTERVAL,
    Kind.JSONB, Kind.UUID,
})  # fmt: skip
_NAMED = {Kind.DATE: "date", Kind.TIME: "time", Kind.TIMESTAMP: "timestamp"}
ReadLiteral = Callable[[str], Literal | None]


def rows_with_types(
    rows: ConstantRows, given: ColumnTypes, binder: ExpressionBinder
) -> Iterator[tuple[Expr, ...]]:
    """Yield the rows of VALUES, typed by the given types where there is one for each value.

    Raises what the expressions raise, E0247 and E0258 among them.
    """
    cells = _Cells(rows, given, binder)
    readers = [reader_of(t) for t in given.types]
    for start, texts in rows_of(rows.name):
        if len(texts) > len(readers):
            yield tuple(cells.bind(start, i) for i in range(len(texts)))
        else:
            yield tuple(
                readers[i](text) or cells.assign(start, i, text) for i, text in enumerate(texts)
            )


@dataclass
class _Cells:
    """Cells that are read as expressions; a text that is there again is read once."""

    rows: ConstantRows
    given: ColumnTypes
    binder: ExpressionBinder
    known: dict[tuple[int, str], Expr] = field(default_factory=dict)

    def assign(self, start: int, number: int, text: str) -> Expr:
        """Return a cell as what its column holds."""
        expr = self.known.get((number, text))
        if expr is None:
            span = self.binder.span(self.rows)
            type_ = self.given.types[number]
            expr = assign(self.bind(start, number), type_, span=span)
            self.known[number, text] = expr
        return expr

    def bind(self, start: int, number: int) -> Expr:
        """Return a cell as it is written; `start` is where the cells of its row begin."""
        source, offset = self.binder.context.source, int(self.rows.meta["start"])
        assert source is not None and source.source is not None
        at, end = cell_at(self.rows.name, start, number)
        tree = parse_value(source.source, source.file, offset + at, offset + end)
        if is_default(tree) and number < len(self.given.defaults):
            return self.given.defaults[number]
        if number < len(self.given.types):
            return self.binder.bind_with_type(tree, self.given.types[number])
        return self.binder.bind(tree)


def reader_of(type_: SqlType) -> ReadLiteral:
    """Return a reader of the plain spellings of a type's values; it returns None for others."""
    number = _number_reader(type_)
    named = re.compile(rf"(?i:{_NAMED[type_.kind]})\s*('[^']*')") if type_.kind in _NAMED else None
    null = Literal(type_, None)
    reads_text = type_.kind in _FROM_TEXT

    def read_literal(text: str) -> Literal | None:
        first = text[0]
        if first == "'":
            return _parse_literal(text, type_) if reads_text and _STRING.fullmatch(text) else None
        if number is not None and (first == "-" or first.isdigit()):
            return number(text)
        if named is not None and (typed := named.fullmatch(text)):
            return _parse_literal(typed[1], type_)
        word = text.lower()
        if word == "null":
            return null
        if word in ("true", "false") and type_ == BOOLEAN:
            return Literal(BOOLEAN, word == "true")
        return None

    return read_literal


def _parse_literal(text: str, type_: SqlType) -> Literal | None:
    plain = text[1:-1].replace("''", "'")
    if type_ == VARCHAR:
        return Literal(VARCHAR, plain)
    try:
        return Literal(type_, from_text(plain, type_))
    except RowError:
        return None


def _number_reader(type_: SqlType) -> ReadLiteral | None:
    match type_.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            limit = 1 << BITS[type_.kind]

            def whole(text: str) -> Literal | None:
                value = digits.whole(text) if _INTEGER.fullmatch(text) else limit
                return Literal(type_, value) if -limit <= value < limit else None

            return whole
        case Kind.DOUBLE:

            def double(text: str) -> Literal | None:
                plain = len(text) <= _DIGITS and _NUMBER.fullmatch(text)
                # There is no -0.0 among the numbers that are written without an exponent.
                return Literal(type_, float(text) + 0.0) if plain else None

            return double
        case Kind.NUMERIC:

            def decimal(text: str) -> Literal | None:
                if len(text) > _DIGITS or not _NUMBER.fullmatch(text):
                    return None
                value = Decimal(text)
                try:
                    return Literal(type_, fit_decimal(value if value else abs(value), type_))
                except RowError:
                    return None

            return decimal
        case _:
            return None
