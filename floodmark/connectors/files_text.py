"""CSV and JSON lines: what the first lines of a file say, and how a line becomes a row.

A line is parsed into text cells first and every cell is then converted on its own, so that a value
that does not fit its type makes its row corrupt and nothing raises.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floodmark.catalog.functions.quoting import quote
from floodmark.catalog.functions.years import ENDS
from floodmark.catalog.types import Kind, Schema, SqlType, is_bare
from floodmark.connectors.base import REASON
from floodmark.connectors.fields import Fields
from floodmark.connectors.files_discovery import FileFacts, FoundFile
from floodmark.connectors.logical_types import within_a_day
from floodmark.errors import UserError
from floodmark.spark.casts import holds_digits
from floodmark.spark.json_text import STRICT, is_one_value
from floodmark.spark.types import quoted, spark_type

BYTES_PER_ROW = 100
"""The estimate where rows are not counted."""
_SNIFF = 65_536
_LOOKED_AT = 100
"""Lines of a JSON file that are read for the keys that it has, and how it writes them."""
_GZIP_MAGIC = b"\x1f\x8b"
_COMPRESSED = (".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz", ".zip")
_NESTED = (Kind.LIST, Kind.STRUCT, Kind.MAP)
_PARSED = "__parsed"
_LINE, _WRONG = "__value", "__wrong"
_SHOWN = 60
"""Characters of a value that a reason shows."""
_UNPARSED = "__unparsed"

RowsOf = Callable[[Mapping[str, Any]], Iterable[Any]]
"""Finds the rows in a parsed line: the line itself, or what a message holds."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How cells are written; `null` is the text of a NULL beside the empty cell."""

    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    null: str = ""


def check_text_types(source: str, schema: Schema) -> None:
    """Refuse column types that have no text form here."""
    for column in schema:
        if column.type.kind is Kind.INTERVAL:
            raise UserError(
                "E0479",
                f"source {source}: column {column.name} of type {column.type} "
                "cannot be read from text",
                hint="read it as VARCHAR and cast it in the query",
            )


def _itself(line: Mapping[str, Any]) -> Iterable[Any]:
    return (line,)


def inspect_text(
    found: FoundFile,
    schema: Schema,
    dialect: CsvDialect | None,
    rows_of: RowsOf = _itself,
    needed: Schema = (),
) -> FileFacts:
    """Look at the first 64 KiB; a CSV header (`dialect` given) goes into `extra["columns"]`.

    A `.gz` file is unpacked once, because only its unpacked length bounds its rows. `rows_of`
    finds the rows in a line of JSON. What a header, or the first lines, lack of the `needed`
    columns is told, and what they have that no column takes.
    """
    try:
        start, length = _unpacked(found) if found.path.suffix == ".gz" else _plain(found)
    except (OSError, EOFError, zlib.error) as error:
        return FileFacts(1, 1, bad=f"cannot be read: {error}")
    bad = _not_text(found, start)
    if bad is None and dialect is None:
        bad = _not_json_lines(start)
    rows = max(1, length // BYTES_PER_ROW)
    if bad is not None:
        return FileFacts(1, 1, bad=bad)
    if dialect is None:
        keys = _keys(start, rows_of)
        variants = _key_variants(keys, schema)
        extra: dict[str, Any] = {"columns": variants} if variants else {}
        told = _told(schema, needed, keys) if keys else {}
        return FileFacts(length, rows, extra={**extra, **told})
    if not dialect.header:
        return FileFacts(length, rows)
    return _with_header(start, length, rows, schema, dialect, needed)


def _told(schema: Schema, needed: Schema, names: Iterable[str]) -> dict[str, Any]:
    unlike = Fields.between(schema, names)
    lacks = tuple(c.name for c in needed if c.name in unlike.lacks)
    return replace(unlike, lacks=lacks).as_payload()


def _plain(found: FoundFile) -> tuple[bytes, int]:
    with found.path.open("rb") as file:
        return file.read(_SNIFF), found.size


def _unpacked(found: FoundFile) -> tuple[bytes, int]:
    with gzip.open(found.path) as file:
        start = file.read(_SNIFF)
        length = len(start)
        while chunk := file.read(1 << 20):
            length += len(chunk)
    return start, max(length, 1)


def _not_text(found: FoundFile, start: bytes) -> str | None:
    if found.path.suffix in _COMPRESSED:
        return f"compression {found.path.suffix} is not read; .gz is"
    if start.startswith(b"PAR1"):
        return "a Parquet file under another name"
    if start.startswith(_GZIP_MAGIC):
        return "a gzip file without .gz in its name"
    if b"\0" in start:
        return "not text: it holds NUL bytes"
    # Bad bytes in single lines make those rows corrupt; a file of another encoding has them early.
    line = start.split(b"\n", 1)[0]
    try:
        line.decode()
    except UnicodeDecodeError as error:
        if len(line) < _SNIFF:
            return f"not UTF-8: {error.reason} at byte {error.start} of the first line"
    return None


def _not_json_lines(start: bytes) -> str | None:
    lines = [line.strip() for line in start.removeprefix(b"\xef\xbb\xbf").splitlines()]
    if any(line.startswith(b"{") or line == b"null" for line in lines) or not any(lines):
        return None
    first = next(line for line in lines if line)
    if first.startswith(b"["):
        return "a JSON array, where one object a line is needed"
    return "not JSON lines: no line starts with {"


def _keys(start: bytes, rows_of: RowsOf) -> set[str]:
    """Return the keys of the rows in the first lines."""
    found: set[str] = set()
    for line in start.removeprefix(b"\xef\xbb\xbf").splitlines()[:_LOOKED_AT]:
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError):  # The latter: nested deeper than Python goes.
            continue
        rows = rows_of(parsed) if isinstance(parsed, dict) else ()
        for row in rows:
            if isinstance(row, dict):
                found.update(key for key in row if key.isprintable())
    return found


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
    line = start.decode(errors="replace").removeprefix("\ufeff").split("\n", 1)[0].rstrip("\r")
    reader = csv.reader([line], delimiter=dialect.delimiter, quotechar=dialect.quote)
    try:
        cells = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        return FileFacts(1, 1, bad=f"the header does not parse: {error}")
    wanted = [column.name for column in schema]
    by_lower = {name.lower(): name for name in wanted}
    names = [c if c in wanted else by_lower.get(c.lower(), c) for c in cells]
    if not set(names) & set(wanted):
        shown = ", ".join(cells[:8])
        return FileFacts(
            1, 1, bad=f"the header has none of the declared columns, it has: {shown[:200]}"
        )
    if duplicates := sorted({n for n in names if names.count(n) > 1 and n in wanted}):
        return FileFacts(1, 1, bad=f"the header has {duplicates[0]} twice")
    extra: dict[str, Any] = {} if names == wanted else {"columns": names}
    return FileFacts(length, rows, extra={**extra, **_told(schema, needed, names)})


def cell_types(schema: Schema, variants: Sequence[str]) -> list[str]:
    """Return the Spark types of the cells of a row: text, but for nested values."""
    types = {c.name.lower(): spark_type(c.type) for c in schema if c.type.kind in _NESTED}
    return [types.get(name.lower(), "STRING") for name in (*(c.name for c in schema), *variants)]


def cell_places(schema: Schema, variants: Sequence[str]) -> list[tuple[int, ...]]:
    """Return for each column the places of the cells that can hold it.

    >>> from floodmark.catalog.types import INT, Field
    >>> cell_places((Field("a", INT), Field("b", INT)), ["B"])
    [(0,), (1, 2)]
    """
    lower = [name.lower() for name in variants]
    return [
        (i, *(len(schema) + j for j, name in enumerate(lower) if name == column.name.lower()))
        for i, column in enumerate(schema)
    ]


def json_cells(schema: Schema, variants: Sequence[str] = ()) -> str:
    """Return the Spark text that parses the column `value` into cells c0, c1, …

    `variants` are keys that stand for columns of the same name in other case: Spark can parse
    them, but not tell them apart by name.
    """
    names = [*(c.name for c in schema), *variants]
    found = cell_types(schema, variants)
    cells = ", ".join(f"{quoted(c)} {t}" for c, t in zip(names, found, strict=True))
    ddl = quote(f"{cells}, {quoted(_UNPARSED)} STRING")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_UNPARSED}', {STRICT})"
    places = ", ".join(f"c{i}: {t}" for i, t in enumerate(found))
    struct = f"struct<{places}, {_UNPARSED}: STRING>"
    parsed = f"CAST(from_json(value, {ddl}, {options}) AS {struct})"
    return f"CASE WHEN {is_one_value('value')} THEN {parsed} END AS {_PARSED}"


def csv_cells(columns: Sequence[str], dialect: CsvDialect) -> str:
    """Return the Spark text that parses the column `value`; cells are called c0, c1, …"""
    cells = ", ".join(f"c{i} STRING" for i in range(len(columns)))
    ddl = quote(f"{cells}, {quoted(_UNPARSED)} STRING")
    settings = {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _UNPARSED,
        "sep": dialect.delimiter,
        "quote": dialect.quote,
        "escape": dialect.escape,
        "nullValue": dialect.null,
        "maxCharsPerColumn": "-1",
    }
    pairs = ", ".join(f"{quote(k)}, {quote(v)}" for k, v in settings.items())
    return f"from_csv(value, {ddl}, map({pairs})) AS {_PARSED}"


def json_cell_names(schema: Schema, variants: Sequence[str] = ()) -> dict[str, str | None]:
    """Return for each declared column the text of the cell that holds it.

    >>> from floodmark.catalog.types import INT, Field
    >>> json_cell_names((Field("a", INT), Field("b", INT)), ["B"])
    {'a': '__parsed.c0', 'b': 'coalesce(__parsed.c1, __parsed.c2)'}
    """
    out: dict[str, str | None] = {}
    for column, places in zip(schema, cell_places(schema, variants), strict=True):
        cells = [f"{_PARSED}.c{place}" for place in places]
        out[column.name] = cells[0] if len(cells) == 1 else f"coalesce({', '.join(cells)})"
    return out


def csv_cell_names(schema: Schema, columns: Sequence[str]) -> dict[str, str | None]:
    """Return for each declared column the text of the cell that holds it; `columns` is a header.

    >>> from floodmark.catalog.types import INT, Field
    >>> csv_cell_names((Field("a", INT), Field("b", INT)), ["b", "x"])
    {'a': None, 'b': '__parsed.c0'}
    """
    places = {name: f"{_PARSED}.c{i}" for i, name in enumerate(columns)}
    return {c.name: places.get(c.name) for c in schema}


def row_expressions(
    schema: Schema, cells: dict[str, str | None], dialect: CsvDialect | None
) -> list[str]:
    """Return the Spark text of the declared columns, and of what is wrong with a row.

    Over them, `told_expressions` say it in words.
    """
    texts, bad = [], ["NOT is_valid_utf8(value)"]
    if dialect is not None:
        # An odd number of quotes: the quoted cell goes on in the next line, or is broken.
        mark = quote(dialect.quote)
        bad.append(f"(length(value) - length(replace(value, {mark}, ''))) % 2 = 1")
    bad += [f"{_PARSED} IS NULL", f"{_PARSED}.{_UNPARSED} IS NOT NULL"]
    for column in schema:
        raw = cells[column.name]
        name, target = quoted(column.name), spark_type(column.type)
        if raw is None:
            texts.append(f"CAST(NULL AS {target}) AS {name}")
            continue
        value = convert(raw, column.type, nested_as_text=dialect is not None)
        texts.append(f"{value} AS {name}")
        if value != raw:
            bad.append(f"({raw} IS NOT NULL AND {value} IS NULL)")
    whens = " ".join(f"WHEN {test} THEN {i}" for i, test in enumerate(bad))
    return [*texts, f"value AS {_LINE}", _PARSED, f"CASE {whens} END AS {_WRONG}"]


def told_expressions(
    schema: Schema, cells: Mapping[str, str | None], dialect: CsvDialect | None
) -> list[str]:
    """Return the Spark text of `__corrupt` and `__reason`, over `row_expressions`."""
    line = "is not one JSON object" if dialect is None else "does not parse as CSV"
    said = [quote("the line is not UTF-8")]
    if dialect is not None:
        said.append(quote(f"the line has an odd number of quotes ({dialect.quote})"))
    said += [quote(f"the line {line}"), _unparsed(schema, cells, line, dialect)]
    for column in schema:
        raw = cells[column.name]
        whole = (Kind.VARCHAR, *(() if dialect is not None else _NESTED))
        if raw is not None and column.type.kind not in whole:
            said.append(unlike(column.name, raw, column.type))
    whens = " ".join(f"WHEN {i} THEN {text}" for i, text in enumerate(said))
    return [
        f"CASE WHEN {_WRONG} IS NOT NULL THEN make_valid_utf8({_LINE}) END AS __corrupt",
        f"CASE {_WRONG} {whens} END AS {REASON}",
    ]


def _unparsed(
    schema: Schema, cells: Mapping[str, str | None], line: str, dialect: CsvDialect | None
) -> str:
    """Return the Spark text of why a line does not parse: a nested value may be the reason."""
    nested = [c.name for c in schema if c.type.kind in _NESTED and cells[c.name] is not None]
    if dialect is not None or not nested:
        return quote(f"the line {line}")
    return quote(f"the line {line}, or {' or '.join(nested)} holds a value of another type")


def unlike(name: str, raw: str, type_: SqlType) -> str:
    """Return the Spark text that says that a cell is no value of its column's type."""
    shown = (
        f"CASE WHEN length({raw}) > {_SHOWN} THEN concat(left({raw}, {_SHOWN}), '…') ELSE {raw} END"
    )
    start, end = quote(f"{name}: '"), quote(f"' is not {str(type_).lower()}")
    return f"concat({start}, make_valid_utf8({shown}), {end})"


def convert(raw: str, type_: SqlType, *, nested_as_text: bool) -> str:
    """Return the Spark text that turns a text cell into a value, or into NULL if it is none.

    A timestamp's offset is applied: without one the text is taken as UTC.
    """
    match type_.kind:
        case Kind.VARCHAR:
            return raw
        case Kind.DATE:
            return f"CASE WHEN {_has_year(raw)} THEN try_cast({raw} AS DATE) END"
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            # A time alone would become a moment of today.
            cast = f"try_cast({raw} AS TIMESTAMP_LTZ)"
            first, last = ENDS[Kind.TIMESTAMPTZ]
            # An offset can lead out of the first and the last year.
            inner = f"left(trim({raw}), 4) BETWEEN '0002' AND '9998'"
            within = f"({inner} OR {cast} BETWEEN {first} AND {last})"
            moment = f"CASE WHEN {_has_year(raw)} AND {within} THEN {cast} END"
            zoned = type_.kind is Kind.TIMESTAMPTZ
            return moment if zoned else f"CAST({moment} AS TIMESTAMP_NTZ)"
        case Kind.TIME:
            moment = f"try_cast(concat('1970-01-01 ', trim({raw})) AS TIMESTAMP_LTZ)"
            clocked = f"CASE WHEN trim({raw}) RLIKE '^[0-9]' THEN unix_micros({moment}) END"
            return within_a_day(clocked)
        case Kind.BYTEA:
            return f"try_to_binary(regexp_replace({raw}, '^\\\\\\\\x', ''), 'hex')"
        case Kind.JSONB:
            return f"CASE WHEN {is_one_value(raw)} THEN to_json(try_parse_json({raw})) END"
        case Kind.UUID:
            form = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
            return f"CASE WHEN lower({raw}) RLIKE '{form}' THEN lower({raw}) END"
        case kind if kind in _NESTED:
            if not nested_as_text:
                return raw
            parsed = (
                f"from_json({raw}, {quote(spark_type(type_))}, map('mode', 'PERMISSIVE', {STRICT}))"
            )
            return f"CASE WHEN {is_one_value(raw)} THEN {parsed} END"
        case Kind.NUMERIC if is_bare(type_):
            return f"CASE WHEN {holds_digits(raw)} THEN try_cast({raw} AS {spark_type(type_)}) END"
        case _:
            return f"try_cast({raw} AS {spark_type(type_)})"


def _has_year(raw: str) -> str:
    """Return the Spark text of the test that a text begins with a year from 1 to 9999."""
    return f"substr(trim({raw}), 5, 1) = '-' AND NOT startswith(trim({raw}), '0000')"
