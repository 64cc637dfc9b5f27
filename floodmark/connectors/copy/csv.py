"""CSV that COPY reads: Arrow reads the plain records, and what it does not take is read exactly.

A text in quotes is never NULL; of several columns an empty line is no row.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.connectors.copy.blocks import Block, blocks
from floodmark.connectors.copy.file import CopyFile, check_names, parse_value
from floodmark.connectors.copy.values import NoValue, TypesByName, parse_texts, table_of
from floodmark.scalar.types import SqlType

if TYPE_CHECKING:
    import pyarrow as pa

_QUOTE, _ENDS = ord('"'), (ord("\n"), ord("\r"))


@dataclass(frozen=True)
class _Record:
    """The fields of a record, none of an empty line; the line it begins in, where it ends."""

    fields: Sequence[str | None]
    line: int
    end: int


def csv_pieces(
    file: CopyFile, types: TypesByName, columns: Sequence[str], given: set[str]
) -> Iterator[pa.Table]:
    """Yield the rows of a file, some at a time; `given` gets the columns that they have."""
    names = list(columns or types)
    for i, block in enumerate(blocks(file, quoted=True)):
        if i == 0 and file.header:
            head, block = _split_header(file, block)
            if not columns:
                names = head
                check_names(file, names, types, 1)
        given.update(names)
        found = _parse_fast(file, block, names, types)
        yield _parse_exact(file, block, names, types) if found is None else found
    given.update(names)


def _split_header(file: CopyFile, block: Block) -> tuple[list[str], Block]:
    """Return the fields of the first record, and the records after it."""
    text = block.text(file)
    first = next(_records(file, text, block.line))
    rest = text[first.end :].encode()
    line = block.line + block.data.count(b"\n") - rest.count(b"\n")
    return [name or "" for name in first.fields], Block(line, rest)


def _parse_fast(
    file: CopyFile, block: Block, names: Sequence[str], types: TypesByName
) -> pa.Table | None:
    """Return a block as Arrow reads it; None where Arrow may misread it."""
    import pyarrow as pa
    from pyarrow import csv

    if not file.delimiter.isascii() or not _has_whole_quotes(block.data, ord(file.delimiter)):
        return None
    text = pa.string()
    # Of a last line without an end, Arrow takes an empty last field for a quoted one.
    whole = block.data if block.data.endswith((b"\n", b"\r")) else block.data + b"\n"
    try:
        parsed = csv.read_csv(
            io.BytesIO(whole if block.data else b""),
            csv.ReadOptions(column_names=list(names)),
            csv.ParseOptions(
                delimiter=file.delimiter,
                newlines_in_values=b'"' in block.data,
                ignore_empty_lines=len(names) > 1,
            ),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, text),
                null_values=[file.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return pa.table(
            [_column(parsed.column(name), types[name]) for name in names], names=list(names)
        )
    except (pa.ArrowInvalid, NoValue):
        return None


def _column(texts: pa.ChunkedArray, type_: SqlType) -> pa.Array:
    return parse_texts(texts.combine_chunks(), type_)


def _has_whole_quotes(data: bytes, delimiter: int) -> bool:
    """Tell whether all quotes enclose whole fields, or are two for one inside of such."""
    if b'"' not in data:
        return True
    import numpy as np

    codes = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(codes == _QUOTE)
    if len(quotes) % 2:
        return False
    initial, ends = quotes[0::2], quotes[1::2]
    around = (delimiter, *_ENDS)
    before = np.isin(codes[initial - 1], around) | (initial == 0)
    before[1:] |= initial[1:] == ends[:-1] + 1
    after = np.isin(codes[np.minimum(ends + 1, len(codes) - 1)], around)
    after |= ends == len(codes) - 1
    after[:-1] |= initial[1:] == ends[:-1] + 1
    return bool(before.all() and after.all())


def _parse_exact(
    file: CopyFile, block: Block, names: Sequence[str], types: TypesByName
) -> pa.Table:
    """Return a block, field by field; E0425 names the line and the column."""
    values: list[list[Any]] = [[] for _ in names]
    takers = [(name, types[name], out.append) for name, out in zip(names, values, strict=True)]
    for record in _records(file, block.text(file), block.line):
        if not record.fields and len(names) > 1:
            continue
        fields = record.fields or [None if not file.null else ""]
        if len(fields) != len(names):
            file.wrong(record.line, f"{len(fields)} values for {len(names)} columns")
        for text, (name, type_, take) in zip(fields, takers, strict=True):
            take(None if text is None else parse_value(file, record.line, name, text, type_))
    return table_of(names, values, types)


def _records(file: CopyFile, text: str, line: int) -> Iterator[_Record]:
    """Yield each record of a text that begins in a line."""
    mark = re.escape(file.delimiter)
    pattern = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{mark}"\r\n]*))({mark}|\r\n|\r|\n|\Z)')
    at, fields = 0, list[str | None]()
    started = line
    while at < len(text) or fields:
        match = pattern.match(text, at)
        if match is None:
            file.wrong(line, f"column {len(fields) + 1}: a quote without its other half")
        quoted, bare, end = match.groups()
        if quoted is not None:
            fields.append(quoted.replace('""', '"'))
            line += quoted.count("\n")
        else:
            fields.append(None if bare == file.null else bare)
        at = match.end()
        if end == file.delimiter:
            continue
        blank = len(fields) == 1 and quoted is None and not bare
        yield _Record([] if blank else fields, started, at)
        fields, line = [], line + 1
        started = line
