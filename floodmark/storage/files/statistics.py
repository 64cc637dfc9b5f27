"""File statistics: from Parquet footers, and as the JSON of a Delta log.

A bound is kept only where it is safe for every reader. Booleans, binary and nested columns have
none. Strings are cut at 64 characters, and the upper bound is then raised. Floats have an upper
bound only where no NaN can be above it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from floodmark.scalar.types import Kind, Schema
from floodmark.storage.plain_files import file_size, parquet_footer
from floodmark.storage.table import DataFile, Scalar

if TYPE_CHECKING:
    import pyarrow as pa

STRING_LIMIT = 64
_HIGHEST = "\U0010ffff"
_BOUNDED = (int, float, Decimal, str, date)


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """What a footer or a log entry says about one file."""

    rows: int
    low: Mapping[str, Scalar]
    high: Mapping[str, Scalar]
    nulls: Mapping[str, int]


def read_footer(path: str, relative: str) -> DataFile:
    """Read the footer of a Parquet file: rows and, per plain top-level column, bounds and NULLs."""
    # A run that finds nothing new never gets here: it does not wait for the import.
    from pyarrow import types

    metadata = parquet_footer(path)
    low: dict[str, Scalar] = {}
    high: dict[str, Scalar] = {}
    nulls: dict[str, int] = {}
    trusts_nan = (metadata.created_by or "").startswith("parquet-mr")
    for leaf, name, kind in _plain_columns(metadata.schema.to_arrow_schema()):
        chunks = [metadata.row_group(g).column(leaf) for g in range(metadata.num_row_groups)]
        chunk_statistics = [chunk.statistics for chunk in chunks]
        if chunks and all(s is not None and s.has_null_count for s in chunk_statistics):
            nulls[name] = sum(s.null_count for s in chunk_statistics)
        if any(chunk.physical_type == "INT96" for chunk in chunks):
            continue
        bounds = _column_bounds(chunk_statistics, [chunk.num_values for chunk in chunks])
        if bounds is None:
            continue
        low[name] = bounds[0]
        if trusts_nan or not types.is_floating(kind):
            high[name] = bounds[1]
    high = {name: value for name, value in high.items() if value is not None}
    return DataFile(relative, file_size(path), metadata.num_rows, low, high, nulls)


def to_json(file: DataFile) -> str:
    """Return the statistics as a Delta log holds them.

    Decimals are numbers with all digits, timestamps have microseconds.

    >>> to_json(DataFile("a", 1, 2, {"x": Decimal("1.50")}, {"x": Decimal("2.00")}, {"x": 0}))
    '{"numRecords":2,"minValues":{"x":1.50},"maxValues":{"x":2.00},"nullCount":{"x":0}}'
    """
    return (
        f'{{"numRecords":{file.rows},"minValues":{_object(file.low)},'
        f'"maxValues":{_object(file.high)},"nullCount":{_object(file.nulls)}}}'
    )


def from_json(text: str | None, schema: Schema) -> FileStatistics:
    """Read the statistics of a log entry; what is missing or strange is unbounded."""
    if not text:
        return FileStatistics(0, {}, {}, {})
    data = json.loads(text, parse_float=Decimal)
    kinds = {field.name: field.type.kind for field in schema}
    return FileStatistics(
        rows=int(data.get("numRecords") or 0),
        low=_read_bounds(data.get("minValues"), kinds, upper=False),
        high=_read_bounds(data.get("maxValues"), kinds, upper=True),
        nulls={
            name: count
            for name, count in (data.get("nullCount") or {}).items()
            if isinstance(count, int)
        },
    )


def _plain_columns(schema: pa.Schema) -> list[tuple[int, str, pa.DataType]]:
    from pyarrow import types

    columns: list[tuple[int, str, pa.DataType]] = []
    leaf = 0
    for field in schema:
        width = _leaves(field.type)
        if width == 1 and not types.is_nested(field.type):
            columns.append((leaf, field.name, field.type))
        leaf += width
    return columns


def _leaves(kind: pa.DataType) -> int:
    from pyarrow import types

    if not types.is_nested(kind):
        return 1
    return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields))


def _column_bounds(chunks: list[Any], values: list[int]) -> tuple[Scalar, Scalar | None] | None:
    lows: list[Scalar] = []
    highs: list[Scalar] = []
    for statistics, count in zip(chunks, values, strict=True):
        if statistics is None:
            return None
        if statistics.has_min_max:
            try:
                lows.append(_canonical(statistics.min))
                highs.append(_canonical(statistics.max))
            except (ValueError, OverflowError):
                return None
        elif not statistics.has_null_count or statistics.null_count < count:
            return None
    if not lows or not all(_is_bound(v) for v in (*lows, *highs)):
        return None
    low, high = min(lows), max(highs)
    if isinstance(low, str):
        return low[:STRING_LIMIT], _raise_string(high)
    return low, high


def _canonical(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def _is_bound(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, _BOUNDED):
        return False
    return not isinstance(value, float) or math.isfinite(value)


def _raise_string(value: str) -> str | None:
    if len(value) <= STRING_LIMIT:
        return value
    return None if value[STRING_LIMIT] == _HIGHEST else value[:STRING_LIMIT] + _HIGHEST


def _object(values: Mapping[str, Scalar]) -> str:
    return "{" + ",".join(f"{json.dumps(k)}:{_literal(v)}" for k, v in values.items()) + "}"


def _literal(value: Scalar) -> str:
    match value:
        case Decimal():
            return format(value, "f")
        case datetime():
            text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
            return f'"{text}"' if value.tzinfo is None else f'"{text}Z"'
        case date():
            return f'"{value.isoformat()}"'
        case _:
            return json.dumps(value)


def _read_bounds(
    values: Mapping[str, Any] | None, kinds: Mapping[str, Kind], *, upper: bool
) -> dict[str, Scalar]:
    bounds: dict[str, Scalar] = {}
    for name, raw in (values or {}).items():
        kind = kinds.get(name)
        if kind is None or raw is None or isinstance(raw, (bool, dict, list)):
            continue
        try:
            value = _parse(raw, kind, upper=upper)
        except (ValueError, OverflowError, ArithmeticError):
            continue
        if value is not None:
            bounds[name] = value
    return bounds


def _parse(raw: Any, kind: Kind, *, upper: bool) -> Scalar | None:
    match kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT | Kind.TIME:
            return int(raw)
        case Kind.REAL | Kind.DOUBLE:
            return float(raw)
        case Kind.NUMERIC:
            return Decimal(raw)
        case Kind.VARCHAR | Kind.JSONB | Kind.UUID:
            return str(raw)
        case Kind.DATE:
            return date.fromisoformat(raw)
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return _parse_timestamp(str(raw), kind, upper=upper)
        case _:
            return None


def _parse_timestamp(text: str, kind: Kind, *, upper: bool) -> datetime:
    value = datetime.fromisoformat(text.replace(" ", "T"))
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    value = value.replace(tzinfo=UTC if kind is Kind.TIMESTAMPTZ else None)
    fraction = text.partition(".")[2].split("+")[0].split("-")[0].rstrip("Z")
    # Spark cuts the statistics of timestamps at milliseconds.
    return value + timedelta(microseconds=999) if upper and len(fraction) <= 3 else value
