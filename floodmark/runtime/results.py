"""Arrow tables from Spark to rows of Python values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from floodmark.catalog.types import Kind, Schema, SqlType

if TYPE_CHECKING:
    import pyarrow as pa


def python_rows(table: pa.Table, schema: Schema) -> tuple[tuple[Any, ...], ...]:
    """Return the rows as tuples: naive datetimes for TIMESTAMP, UTC-aware ones for TIMESTAMPTZ."""
    columns = [
        [_value(v, f.type) for v in table.column(i).to_pylist()] for i, f in enumerate(schema)
    ]
    return tuple(zip(*columns, strict=True)) if columns else ()


def _value(value: Any, type_: SqlType) -> Any:
    if value is None:
        return None
    match type_.kind:
        case Kind.TIMESTAMPTZ if isinstance(value, datetime):
            return value.astimezone(UTC)
        case Kind.INTERVAL if isinstance(value, dict):
            return (value["months"], value["days"], value["micros"])
        case Kind.LIST:
            assert type_.element is not None
            return [_value(v, type_.element) for v in value]
        case _:
            return value
