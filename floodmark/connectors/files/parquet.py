"""Parquet files: what a footer says, and how the rows are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from floodmark.connectors.base import Split, rows_of_piece
from floodmark.connectors.fields import Fields, of_another_kind
from floodmark.connectors.files.discovery import FileFacts, FoundFile
from floodmark.errors import DataError
from floodmark.limits import Limits
from floodmark.scalar.types import Field, Kind, Schema, SqlType
from floodmark.spark.types import ident, spark_type

_INTEGERS = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_INTEGER_DIGITS = {"smallint": 5, "int": 10, "bigint": 19}
_UNKNOWN_TO_SPARK = frozenset({"BROTLI", "LZO", "BYTE_STREAM_SPLIT"})
"""Codecs and encodings of pages that Arrow reads and Spark does not."""
VOID = "void"
"""The type of a column of which a file says that all its values are NULL."""
WITHOUT_VALUES = (None, VOID)
_WIDTH = {"smallint": 0, "int": 1, "bigint": 2}


def inspect_parquet(listed: FoundFile, schema: Schema, needed: Schema = ()) -> FileFacts:
    """Read a footer: the rows, and per column what differs from the declared type.

    `extra["types"]` maps a column to the Spark type that is in the file, to None when the file
    lacks it, to VOID when its type was left open. It also names `needed` columns that the file
    lacks, and fields that no column takes. Raises `DataError` when a column cannot be read as
    declared.
    """
    try:
        footer = pq.read_metadata(listed.path)
        arrow = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        return FileFacts(1, 1, bad=f"not a Parquet file: {reason}")
    twice = _only_case_differs(arrow, {c.name.lower() for c in schema})
    if twice is not None:
        return FileFacts(1, 1, bad=twice)
    other = of_another_kind(schema, arrow.names)
    note = Fields.compare(schema, arrow.names).payload_for(needed)
    if other is not None and (footer.num_rows or arrow.names):
        return FileFacts(1, 1, extra=note, bad=f"the file has {other}")
    int96 = _int96_columns(footer)
    types: dict[str, str | None] = {}
    for column in schema:
        stored = _column_type(listed.path, column, arrow, int96)
        if stored != spark_type(column.type):
            types[column.name] = stored
    unknown = _unknown_to_spark(footer, {find_name(c.name, arrow.names) for c in schema})
    if unknown is not None:
        return FileFacts(1, 1, bad=unknown)
    extra = {**({"types": types} if types else {}), **note}
    return FileFacts(footer.num_rows, footer.num_rows, exact=True, extra=extra)


def _only_case_differs(fields: Any, columns: set[str] | None = None) -> str | None:
    """Say which columns, of some, differ in case alone, at any depth: Spark reads neither."""
    seen: dict[str, str] = {}
    for field in fields:
        lower = field.name.lower()
        if columns is not None and lower not in columns:
            continue
        if lower in seen:
            return (
                f"the columns {seen[lower]} and {field.name} differ in upper and lower case alone: "
                "Spark cannot tell them apart"
            )
        seen[lower] = field.name
        parts = [field.type.field(i) for i in range(field.type.num_fields)]
        below = _only_case_differs(parts)
        if below is not None:
            return below
    return None


def _unknown_to_spark(footer: Any, columns: set[str | None]) -> str | None:
    """Say which of some columns Spark cannot read, and why; None where it can read all."""
    groups = (footer.row_group(i) for i in range(footer.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(group.num_columns))
    for chunk in chunks:
        found = {chunk.compression, *chunk.encodings} & _UNKNOWN_TO_SPARK
        if found and columns & {chunk.path_in_schema, chunk.path_in_schema.split(".")[0]}:
            what = f"Spark does not read {found.pop()} (column {chunk.path_in_schema})"
            return f"{what}: write the file with ZSTD and PLAIN"
    return None


def _int96_columns(footer: Any) -> frozenset[str]:
    columns = (footer.schema.column(i) for i in range(len(footer.schema)))
    return frozenset(c.path for c in columns if c.physical_type == "INT96")


def _column_type(path: Path, column: Field, arrow: pa.Schema, int96: frozenset[str]) -> str | None:
    name = find_name(column.name, arrow.names)
    if name is None:
        return None
    if pa.types.is_null(arrow.field(name).type):
        # A writer that saw only NULLs in a column may have left its type open.
        return VOID
    type_ = arrow.field(name).type
    stored = "timestamp_ltz" if name in int96 else parquet_spark_type(type_, column.type)
    if stored is None or not _readable(stored, column.type):
        nanos = pa.types.is_timestamp(type_) and type_.unit == "ns"
        raise DataError(
            "E0478",
            f"{path}: column {column.name} is declared {column.type}, the file has {type_}",
            hint="write timestamps in microseconds (coerce_timestamps='us')"
            if nanos
            else "declare the column with the file's type, or move the file away: the rest goes on",
        )
    return stored


def find_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name itself if it is there, else the only one that differs in case."""
    if name in (all_names := list(names)):
        return name
    close = [other for other in all_names if other.lower() == name.lower()]
    return close[0] if len(close) == 1 else None


def parquet_spark_type(type_: pa.DataType, declared: SqlType) -> str | None:
    """Return the Spark type of a Parquet column, None when Spark does not read it.

    >>> parquet_spark_type(pa.int32(), SqlType(Kind.BIGINT))
    'int'
    """
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    for test, stored in _SCALARS:
        if test(type_):
            return stored
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_) and type_.unit != "ns":
        return "timestamp_ltz" if type_.tz is not None else "timestamp_ntz"
    # A nested column is read with its declared type.
    return spark_type(declared) if _holds(type_, declared) else None


def _holds(type_: pa.DataType, declared: SqlType) -> bool:
    """Tell whether Spark reads a nested column of a file with its declared type."""
    match declared:
        case SqlType(Kind.LIST, element=SqlType() as element):
            is_list = any(test(type_) for test in _LISTS)
            return is_list and _holds_part(type_.value_type, element)
        case SqlType(Kind.MAP, element=SqlType() as value, key=SqlType() as key):
            if not pa.types.is_map(type_):
                return False
            return _holds_part(type_.key_type, key) and _holds_part(type_.item_type, value)
        case SqlType(Kind.STRUCT, fields=fields) if pa.types.is_struct(type_):
            known = {f.name: f.type for f in type_}
            pairs = ((find_name(f.name, known), f.type) for f in fields)
            return all(name is None or _holds_part(known[name], part) for name, part in pairs)
        case _:
            return declared.kind is Kind.INTERVAL and bool(pa.types.is_struct(type_))


def _holds_part(type_: pa.DataType, declared: SqlType) -> bool:
    # Elements that are all NULL or not there have the type of integers, where it was left open.
    stored = parquet_spark_type(pa.int32() if pa.types.is_null(type_) else type_, declared)
    return stored is not None and _readable(stored, declared)


_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
    pa.types.is_fixed_size_list,
)
_SCALARS = (
    (pa.types.is_boolean, "boolean"),
    (lambda t: pa.types.is_int8(t) or pa.types.is_int16(t) or pa.types.is_uint8(t), "smallint"),
    (lambda t: pa.types.is_int32(t) or pa.types.is_uint16(t), "int"),
    (lambda t: pa.types.is_int64(t) or pa.types.is_uint32(t), "bigint"),
    (pa.types.is_uint64, "decimal(20,0)"),
    (lambda t: pa.types.is_float32(t), "float"),
    (pa.types.is_float64, "double"),
    (lambda t: t in (pa.string(), pa.large_string(), pa.string_view()), "string"),
    (lambda t: t in (pa.binary(), pa.large_binary(), pa.binary_view()), "binary"),
    (pa.types.is_date32, "date"),
)


def _readable(stored: str, declared: SqlType) -> bool:
    """Tell whether every stored value has one equal value of the declared type."""
    kind, target = declared.kind, spark_type(declared)
    if stored == target:
        return True
    match stored:
        case "smallint" | "int" | "bigint" if kind in _INTEGERS:
            return _WIDTH[stored] <= _WIDTH[target]
        case "smallint" | "int" | "bigint" if kind is Kind.NUMERIC:
            return (declared.precision or 0) - (declared.scale or 0) >= _INTEGER_DIGITS[stored]
        case "smallint" | "int":
            return kind is Kind.DOUBLE
        case "float":
            return kind is Kind.DOUBLE
        case "date":
            return kind is Kind.TIMESTAMP
        case "timestamp_ltz" | "timestamp_ntz":
            # Both are instants in UTC here, and the session's time zone is UTC.
            return declared.is_timestamp
        case _ if stored.startswith("decimal(") and kind is Kind.NUMERIC:
            precision, scale = (int(n) for n in stored[8:-1].split(","))
            wider = (declared.precision or 0) - (declared.scale or 0) >= precision - scale
            return wider and (declared.scale or 0) >= scale
        case _:
            return False


def bounds_of(folder: Path, splits: Sequence[Split], column: str) -> tuple[Any, Any] | None:
    """Return (low, high) of a column from the statistics of the row groups that splits touch."""
    low: Any = None
    high: Any = None
    for split in splits:
        if "bad" in split.payload:
            continue
        for statistics in _statistics(folder, split, column):
            if statistics is None or not statistics.has_min_max:
                if statistics is not None and statistics.num_values == 0:
                    continue
                return None
            try:
                least, most = statistics.min, statistics.max
            except (OverflowError, ValueError):  # Times that Python has not.
                return None
            low = least if low is None else min(low, least)
            high = most if high is None else max(high, most)
    return None if low is None else (low, high)


def is_intact(folder: Path, split: Split, needed: Sequence[str], times: Sequence[str]) -> bool:
    """Tell whether the statistics of a split's row groups say that no row of it is dead.

    No value of the needed columns is NULL, and all times are within the calendar.
    """
    try:
        footer = pq.read_metadata(folder / split.payload["file"])
    except (pa.ArrowException, OSError):
        return False
    return all(_has_values(_chunk_statistics(footer, split, c)) for c in needed) and all(
        _has_known_times(_chunk_statistics(footer, split, c)) for c in times
    )


def _has_values(chunks: Sequence[Any]) -> bool:
    counted = all(s is not None and s.has_null_count and s.null_count == 0 for s in chunks)
    return bool(chunks) and counted


def _has_known_times(chunks: Sequence[Any]) -> bool:
    """Tell whether Python has the lowest and the highest time: those of the years 1 to 9999."""
    for statistics in chunks:
        if statistics is None or not statistics.has_min_max:
            if statistics is None or statistics.num_values:
                return False
            continue
        try:
            _ = statistics.min, statistics.max
        except (OverflowError, ValueError):
            return False
    return True


def pieces_of(
    folder: Path, splits: Sequence[Split], column: str, limits: Limits
) -> list[tuple[Any, Any]] | None:
    """Return (low, high) of a time column for each piece of neighbouring rows, by offset.

    None where the files are large or store the column as another type than it is declared with.
    """
    good = sorted((s for s in splits if "bad" not in s.payload), key=lambda s: s.start)
    rows = sum(split.end - split.start for split in good)
    if rows > limits.late_read_rows or any(column in s.payload.get("types", {}) for s in good):
        return None
    out: list[tuple[Any, Any]] = []
    piece = rows_of_piece(rows)
    for split in good:
        times = _times(folder, split, column, limits)
        if times is None:
            return None
        try:
            out += _ends(times, piece)
        except (OverflowError, ValueError):  # Times that Python has not.
            return None
    return out


def _ends(times: Any, piece: int) -> Iterator[tuple[Any, Any]]:
    """Yield the lowest and the highest of each so many times; nothing where all are NULL."""
    import numpy as np

    counts = times.cast(pa.int64())
    limits = np.iinfo(np.int64)
    at = np.arange(0, len(times), piece)
    low = np.minimum.reduceat(counts.fill_null(limits.max).to_numpy(), at)
    high = np.maximum.reduceat(counts.fill_null(limits.min).to_numpy(), at)
    known = low <= high
    ends = [found[known].astype("datetime64[us]").tolist() for found in (low, high)]
    if not all(isinstance(end, datetime) for part in ends for end in part):
        raise OverflowError("a time that Python has not")
    if times.type.tz is not None:
        ends = [[end.replace(tzinfo=UTC) for end in part] for part in ends]
    yield from zip(*ends, strict=True)


def _times(folder: Path, split: Split, column: str, limits: Limits) -> Any:
    """Return a column of timestamps of a split's rows, in microseconds and in UTC.

    None if it is no such column, or broken, or if its row groups are large.
    """
    first = split.payload["row"]
    last = first + split.end - split.start
    try:
        file = pq.ParquetFile(folder / split.payload["file"])
        name = find_name(column, file.schema_arrow.names)
        if name is None or not pa.types.is_timestamp(type_ := file.schema_arrow.field(name).type):
            return None
        groups = list(_groups(file.metadata, first, last))
        if sum(rows for _, rows, _ in groups) > limits.late_read_rows:
            return None
        read = file.read_row_groups([i for i, _, _ in groups], columns=[name])
        times = read.column(0).combine_chunks()
        zone = None if type_.tz is None else "UTC"
        skipped = first - min((start for _, _, start in groups), default=first)
        return times.cast(pa.timestamp("us", zone)).slice(skipped, last - first)
    except (pa.ArrowException, OSError):
        return None


def _groups(footer: Any, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yield (index, rows, first row) of the row groups that have some of these rows."""
    start = 0
    for index in range(footer.num_row_groups):
        rows = footer.row_group(index).num_rows
        if start < last and start + rows > first and rows:
            yield index, rows, start
        start += rows


def _statistics(folder: Path, split: Split, column: str) -> list[Any]:
    return _chunk_statistics(pq.read_metadata(folder / split.payload["file"]), split, column)


def _chunk_statistics(footer: Any, split: Split, column: str) -> list[Any]:
    first = split.payload["row"]
    last = first + split.end - split.start
    name = find_name(column, footer.schema.to_arrow_schema().names)
    if name is None:
        return []
    index = next((i for i in range(footer.num_columns) if footer.schema.column(i).path == name), -1)
    if index < 0:
        return [None]
    groups = _groups(footer, first, last)
    return [footer.row_group(group).column(index).statistics for group, _, _ in groups]


def absent_columns(types: Mapping[str, str | None]) -> list[str]:
    """Return the columns that a file lacks."""
    return [name for name, stored in types.items() if stored is None]


def column_expressions(schema: Schema, types: Mapping[str, str | None]) -> list[str]:
    """Return per declared column the Spark text that makes it from the columns of the file."""
    texts = []
    for column in schema:
        name, target = ident(column.name), spark_type(column.type)
        if column.name not in types:
            # A file with other bytes is put aside as one that cannot be read.
            texts.append(f"validate_utf8({name}) AS {name}" if target == "string" else name)
        elif types[column.name] in WITHOUT_VALUES:
            texts.append(f"CAST(NULL AS {target}) AS {name}")
        else:
            texts.append(f"CAST({name} AS {target}) AS {name}")
    return texts
