"""Files of text that are looked at before they are read: their first lines say what they are."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from floodmark.connectors.fields import Fields, of_another_kind
from floodmark.connectors.files.discovery import FileFacts, FoundFile
from floodmark.connectors.formats.text import CsvDialect
from floodmark.scalar.types import Schema

BYTES_PER_ROW = 100
"""The estimate where rows are not counted."""
_SNIFF = 65_536
_LOOKED_AT = 100
"""Lines of a JSON file that are read for the keys that it has, and how it writes them."""
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_COMPRESSED = (".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz", ".zip")

RowsOf = Callable[[Mapping[str, Any]], Iterable[Any]]
"""Finds the rows in a parsed line: the line itself, or what a message holds."""


def _single_row(line: Mapping[str, Any]) -> Iterable[Any]:
    return (line,)


def inspect_text(
    listed: FoundFile,
    schema: Schema,
    dialect: CsvDialect | None,
    rows_of: RowsOf = _single_row,
    needed: Schema = (),
) -> FileFacts:
    """Look at the first 64 KiB; a CSV header (`dialect` given) goes into `extra["columns"]`.

    A `.gz` file is unpacked once, because only its unpacked length bounds its rows. `rows_of`
    finds the rows in a line of JSON. What a header, or the first lines, lack of the `needed`
    columns is told, and what they have that no column takes.
    """
    try:
        start, length = _unpack(listed) if listed.path.suffix == ".gz" else _plain(listed)
    except (OSError, EOFError, zlib.error) as error:
        return FileFacts(1, 1, bad=f"cannot be read: {error}")
    bad = _not_text(listed, start)
    if bad is None and dialect is None:
        bad = _not_json_lines(start)
    if bad is not None:
        return FileFacts(1, 1, bad=bad)
    header = dialect is not None and dialect.header
    lines = start.removeprefix(_BOM).splitlines()[1 if header else 0 :]
    # A header alone is a file without rows.
    if length <= len(start) and not any(line.strip(b" ") for line in lines):
        length = 0
    rows = max(1, length // BYTES_PER_ROW) if length else 0
    if dialect is None:
        keys = _keys(start, rows_of)
        variants = _key_variants(keys, schema)
        extra: dict[str, Any] = {"columns": variants} if variants else {}
        note = Fields.compare(schema, keys).payload_for(needed) if keys else {}
        return FileFacts(length, rows, extra={**extra, **note})
    if not dialect.header:
        return FileFacts(length, rows)
    return _with_header(start, length, rows, schema, dialect, needed)


def _plain(listed: FoundFile) -> tuple[bytes, int]:
    with listed.path.open("rb") as file:
        return file.read(_SNIFF), listed.size


def _unpack(listed: FoundFile) -> tuple[bytes, int]:
    with gzip.open(listed.path) as file:
        start = file.read(_SNIFF)
        length = len(start)
        while chunk := file.read(1 << 20):
            length += len(chunk)
    return start, max(length, 1)


def _not_text(listed: FoundFile, start: bytes) -> str | None:
    if listed.path.suffix in _COMPRESSED:
        return f"compression {listed.path.suffix} is not read; .gz is"
    if start.startswith(b"PAR1"):
        return "a Parquet file under another name"
    if start.startswith(_GZIP_MAGIC):
        return "a gzip file without .gz in its name"
    # Bad bytes in single lines make those rows corrupt; a file of another encoding has no other.
    lines = start.splitlines(keepends=True)
    if len(start) >= _SNIFF:
        lines = lines[:-1]
    wrong = (_wrong(line) for line in lines if line.strip())
    first = next(wrong, None)
    return first if first is not None and all(wrong) else None


def _wrong(line: bytes) -> str | None:
    """Say why bytes are no text; None where they are."""
    if b"\0" in line:
        return "not text: it holds NUL bytes"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: {error.reason} at byte {error.start} of the first line"
    return None


def _not_json_lines(start: bytes) -> str | None:
    lines = [line.strip() for line in start.removeprefix(_BOM).splitlines()]
    if any(line.startswith(b"{") or line == b"null" for line in lines) or not any(lines):
        return None
    first = next(line for line in lines if line)
    if first.startswith(b"["):
        return "a JSON array, where one object a line is needed"
    if len(lines) == 1 and len(start) >= _SNIFF:
        return None  # The others are behind what was looked at.
    return "not JSON lines: no line starts with {"


def _keys(start: bytes, rows_of: RowsOf) -> set[str]:
    """Return the keys of the rows in the first lines."""
    names: set[str] = set()
    for line in start.removeprefix(_BOM).splitlines()[:_LOOKED_AT]:
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError):  # The latter: nested deeper than Python goes.
            continue
        rows = rows_of(parsed) if isinstance(parsed, dict) else ()
        for row in rows:
            if isinstance(row, dict):
                names.update(key for key in row if key.isprintable())
    return names


def _key_variants(keys: Iterable[str], schema: Schema) -> list[str]:
    """Return keys that are columns in other upper and lower case."""
    wanted = {column.name for column in schema}
    lower = {name.lower() for name in wanted}
    return sorted(k for k in keys if k not in wanted and k.lower() in lower)


def _with_header(
    start: bytes,
    length: int,
    rows: int,
    schema: Schema,
    dialect: CsvDialect,
    needed: Schema,
) -> FileFacts:
    line = next(iter(start.removeprefix(_BOM).splitlines()), b"").decode(errors="replace")
    reader = (
        csv.reader([line], delimiter=dialect.delimiter, quotechar=dialect.quote)
        if dialect.quote
        else csv.reader([line], delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    )
    try:
        cells = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        return FileFacts(1, 1, bad=f"the header does not parse: {error}")
    wanted = [column.name for column in schema]
    by_lower = {name.lower(): name for name in wanted}
    names = [c if c in wanted else by_lower.get(c.lower(), c) for c in cells]
    if (other := of_another_kind(schema, cells)) is not None:
        note = Fields.compare(schema, [c for c in cells if c.isprintable()]).payload_for(needed)
        return FileFacts(1, 1, extra=note, bad=f"the header has {other}")
    if duplicates := sorted({n for n in names if names.count(n) > 1 and n in wanted}):
        return FileFacts(1, 1, bad=f"the header has {duplicates[0]} twice")
    extra: dict[str, Any] = {} if names == wanted else {"columns": names}
    shown_names = [name for name in names if name.isprintable()]
    note = Fields.compare(schema, shown_names).payload_for(needed)
    return FileFacts(length, rows, extra={**extra, **note})
