"""JSON lines that COPY reads: Arrow reads the plain ones; what it does not take is read exactly.

Without names in the statement the file gives the columns that some row has; the others are NULL.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from floodmark.connectors.copy.blocks import Block, blocks
from floodmark.connectors.copy.file import CopyFile, check_names, parse_value
from floodmark.connectors.copy.values import NoValue, TypesByName, parse_texts, table_of
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.user_functions import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

_OBJECTS = re.compile(rb"(?:[ \t]*(?:\{[^\n]*\}[ \t]*)?\r?(?:\n|\Z))*+")
_FAR = re.compile(rb":[ \t]*-?([0-9]+([.][0-9]+)?[eE][+-]?[0-9]{3}|[0-9.]{200})")
"""A number that a DOUBLE may not hold; as a NUMERIC Arrow can die of it."""
_AS_ARE = (Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.DOUBLE, Kind.BOOLEAN)
_AS_TEXTS = (Kind.VARCHAR, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME, Kind.UUID)


def json_pieces(
    file: CopyFile, types: TypesByName, columns: Sequence[str], given: set[str]
) -> Iterator[pa.Table]:
    """Yield the rows of a file, some at a time; `given` gets the columns that a row has."""
    given.update(columns)
    reading = _Reading(file, types, columns, given)
    for block in blocks(file, quoted=False):
        found = reading.parse_fast(block)
        yield reading.parse_exact(block) if found is None else found


@dataclass
class _Reading:
    """A file as it is read; `given` are the columns that the statement names or a row has had."""

    file: CopyFile
    types: TypesByName
    columns: Sequence[str]
    given: set[str]

    def parse_fast(self, block: Block) -> pa.Table | None:
        """Return a block as Arrow reads it; None where Arrow may misread it."""
        import pyarrow as pa
        from pyarrow import json as reader

        if any(t.kind not in (*_AS_ARE, *_AS_TEXTS) for t in self.types.values()):
            return None
        # Arrow takes an object that goes on in another line, two of one, and dies of a null.
        if not _OBJECTS.fullmatch(block.data) or _FAR.search(block.data):
            return None
        schema = pa.schema([(name, _pyarrow_type(t)) for name, t in self.types.items()])
        options = reader.ParseOptions(schema, False, unexpected_field_behavior="error")
        try:
            parsed = reader.read_json(io.BytesIO(block.data), parse_options=options)
            lines = sum(1 for line in block.data.split(b"\n") if line.strip())
            if parsed.num_rows != lines or self._may_give(block, parsed):
                return None
            names = self._names(name for name in parsed.column_names if _has_value(parsed, name))
            return pa.table([_column(parsed, name, self.types[name]) for name in names], names)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, NoValue):
            return None

    def _may_give(self, block: Block, table: pa.Table) -> bool:
        """Tell whether a column may be given that has only been NULL."""
        if self.columns:
            return False
        unknown = [n for n in table.column_names if n not in self.given]
        unknown = [n for n in unknown if not _has_value(table, n)]
        spelt = (json.dumps(name, ensure_ascii=False).encode() for name in unknown)
        return any(text in block.data for text in spelt) or (bool(unknown) and b"\\u" in block.data)

    def _names(self, given: Iterator[str]) -> list[str]:
        """Return the columns of a piece, once it is known what its rows give."""
        if self.columns:
            return list(self.columns)
        self.given.update(given)
        return list(self.types)

    def parse_exact(self, block: Block) -> pa.Table:
        """Return a block, value by value; E0425 names the line and the column."""
        rows: list[tuple[int, Mapping[str, Any]]] = []
        for line, text in enumerate(block.text(self.file).split("\n"), block.line):
            if text.strip():
                rows.append((line, self._row(line, text)))
        names = self._names(name for _, row in rows for name in row)
        values = [
            [
                _json_value(self.file, line, name, row.get(name), self.types[name])
                for line, row in rows
            ]
            for name in names
        ]
        return table_of(names, values, self.types)

    def _row(self, line: int, text: str) -> Mapping[str, Any]:
        try:
            row = json.loads(text, parse_float=Decimal)
        except json.JSONDecodeError as error:
            self.file.wrong(line, f"no JSON, at character {error.colno}: {error.msg}")
        except RecursionError:
            self.file.wrong(line, "nested too deeply")
        except (ValueError, InvalidOperation):
            self.file.wrong(line, "a number is beyond every type")
        if not isinstance(row, dict):
            self.file.wrong(line, "a line is one JSON object")
        check_names(self.file, row, self.types, line)
        return row


def _pyarrow_type(type_: SqlType) -> pa.DataType:
    import pyarrow as pa

    return arrow_type(type_) if type_.kind in _AS_ARE else pa.string()


def _has_value(table: pa.Table, name: str) -> bool:
    return bool(table.column(name).null_count < table.num_rows)


def _column(table: pa.Table, name: str, type_: SqlType) -> pa.Array:
    values = table.column(name).combine_chunks()
    if type_.kind is Kind.NUMERIC:
        # Arrow gives a decimal of more digits than its type has, and says so only here.
        values.validate(full=True)
    return values if type_.kind in _AS_ARE else parse_texts(values, type_)


def _json_value(file: CopyFile, line: int, name: str, value: Any, type_: SqlType) -> Any:
    match value:
        case None:
            return None
        case _ if type_.kind is Kind.JSONB:
            return parse_value(file, line, name, json.dumps(value, default=float), type_)
        case list() if type_.kind is Kind.LIST and type_.element is not None:
            return tuple(_json_value(file, line, name, v, type_.element) for v in value)
        case dict() if type_.kind is Kind.STRUCT:
            return tuple(
                _json_value(file, line, name, value.get(f.name), f.type) for f in type_.fields
            )
        case bool():
            return parse_value(file, line, name, "true" if value else "false", type_)
        case dict() | list():
            file.wrong(line, f'column "{name}" is {type_}, the value is {json.dumps(value)[:40]}')
    return parse_value(file, line, name, str(value), type_)
