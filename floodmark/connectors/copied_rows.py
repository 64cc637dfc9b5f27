"""The rows of a file that COPY reads, as columns of their types: CSV, JSON lines, Parquet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from floodmark.catalog.casts import cast_value
from floodmark.catalog.functions import RowError
from floodmark.catalog.types import UNKNOWN, Kind, SqlType
from floodmark.connectors.copied import CopyFile, out_of_reach
from floodmark.spark.user_functions import arrow_type, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

Types = Mapping[str, SqlType]


def read_rows(file: CopyFile, types: Types, columns: Sequence[str]) -> pa.Table:
    """Return what a file has for a table whose writable columns have these types, in order.

    `columns` are those that the statement names; without any, a CSV file with a header, and the
    other formats, name them. Raises E0424 and E0425.
    """
    try:
        match file.format:
            case "csv":
                return _csv(file, types, columns)
            case "json":
                return _json(file, types, columns)
            case _:
                return _parquet(file, types, columns)
    except OSError as error:
        raise out_of_reach(file.path, error, file.span) from None


def _text_of(file: CopyFile) -> str:
    data = file.path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        file.wrong(data.count(b"\n", 0, error.start) + 1, "this is no UTF-8", "convert the file")


def _csv(file: CopyFile, types: Types, columns: Sequence[str]) -> pa.Table:
    records = _records(file, _text_of(file))
    names = list(columns or types)
    if file.header:
        head = next(records, None)
        if head is not None and not columns:
            names = [name or "" for name in head[1]]
            _check_names(file, names, types, head[0])
    values: list[list[Any]] = [[] for _ in names]
    takers = [(name, types[name], out.append) for name, out in zip(names, values, strict=True)]
    for line, found in records:
        if not found and len(names) > 1:
            continue
        fields = found or [None if not file.null else ""]
        if len(fields) != len(names):
            file.wrong(line, f"{len(fields)} values for {len(names)} columns")
        for text, (name, type_, take) in zip(fields, takers, strict=True):
            take(None if text is None else _typed(file, line, name, text, type_))
    return _table(names, values, types)


def _records(file: CopyFile, text: str) -> Iterator[tuple[int, list[str | None]]]:
    """Yield each record with the line that it begins in; a blank line has no fields.

    A text in quotes is never NULL.
    """
    mark = re.escape(file.delimiter)
    pattern = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{mark}"\r\n]*))({mark}|\r\n|\r|\n|\Z)')
    at, line, fields = 0, 1, list[str | None]()
    begun = 1
    while at < len(text) or fields:
        found = pattern.match(text, at)
        if found is None:
            file.wrong(line, f"column {len(fields) + 1}: a quote without its other half")
        quoted, bare, end = found.groups()
        if quoted is not None:
            fields.append(quoted.replace('""', '"'))
            line += quoted.count("\n")
        else:
            fields.append(None if bare == file.null else bare)
        at = found.end()
        if end == file.delimiter:
            continue
        blank = len(fields) == 1 and quoted is None and not bare
        yield begun, [] if blank else fields
        fields, line = [], line + 1
        begun = line


def _json(file: CopyFile, types: Types, columns: Sequence[str]) -> pa.Table:
    names = list(columns)
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for line, text in enumerate(_text_of(file).split("\n"), 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text, parse_float=Decimal)
        except json.JSONDecodeError as error:
            file.wrong(line, f"no JSON, at character {error.colno}: {error.msg}")
        if not isinstance(row, dict):
            file.wrong(line, "a line is one JSON object")
        _check_names(file, row, types, line)
        rows.append((line, row))
    if not names:
        given = {name for _, row in rows for name in row}
        names = [name for name in types if name in given]
    values = [
        [_from_json(file, line, name, row.get(name), types[name]) for line, row in rows]
        for name in names
    ]
    return _table(names, values, types)


def _from_json(file: CopyFile, line: int, name: str, value: Any, type_: SqlType) -> Any:
    match value:
        case None:
            return None
        case _ if type_.kind is Kind.JSONB:
            return _typed(file, line, name, json.dumps(value, default=float), type_)
        case list() if type_.kind is Kind.LIST and type_.element is not None:
            return tuple(_from_json(file, line, name, v, type_.element) for v in value)
        case dict() if type_.kind is Kind.STRUCT:
            return tuple(_from_json(file, line, name, value.get(f.name), f.type)
                         for f in type_.fields)  # fmt: skip
        case bool():
            return _typed(file, line, name, "true" if value else "false", type_)
        case dict() | list():
            file.wrong(line, f'column "{name}" is {type_}, the value is {json.dumps(value)[:40]}')
    return _typed(file, line, name, str(value), type_)


def _parquet(file: CopyFile, types: Types, columns: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        found = pq.read_table(file.path)
    except pa.ArrowInvalid as error:
        file.wrong(1, f"no Parquet file: {error}")
    names = list(columns) or list(found.column_names)
    _check_names(file, names, types, 1)
    missing = [name for name in names if name not in found.column_names]
    if missing:
        file.wrong(1, f'the file has no column "{missing[0]}"')
    out = []
    for name in names:
        try:
            out.append(found.column(name).cast(arrow_type(types[name])))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            file.wrong(_first_wrong(found.column(name), types[name]), f'column "{name}": {error}')
    return pa.table(out, names=names)


def _first_wrong(column: pa.ChunkedArray, type_: SqlType) -> int:
    """Return the number of the first row with a value that a type does not hold."""
    import pyarrow as pa

    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(arrow_type(type_))
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low + 1


def _check_names(
    file: CopyFile, names: Sequence[str] | Mapping[str, Any], types: Types, line: int
) -> None:
    for name in names:
        if name not in types:
            known = ", ".join(types)
            file.wrong(line, f'the table has no column "{name}" to write', f"it has {known}")
    if len(set(names)) < len(names):
        file.wrong(line, "a column is named twice")


def _typed(file: CopyFile, line: int, name: str, text: str, type_: SqlType) -> Any:
    try:
        return cast_value(text, UNKNOWN, type_)
    except RowError:
        shown = text if len(text) <= 40 else text[:37] + "..."
        file.wrong(line, f"column \"{name}\": '{shown}' is not a value of type {type_}")


def _table(names: Sequence[str], values: Sequence[Sequence[Any]], types: Types) -> pa.Table:
    import pyarrow as pa

    arrays = [
        pa.array([to_arrow(v, types[name]) for v in column], arrow_type(types[name]))
        for name, column in zip(names, values, strict=True)
    ]
    return pa.table(arrays, names=list(names))
