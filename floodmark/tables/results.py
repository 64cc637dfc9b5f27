"""Results of statements, and the conversion of Spark's Arrow tables to Python rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from floodmark.scalar.types import Kind, Schema, SqlType

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result; `type` is the SQL type's text."""

    name: str
    type: str


@dataclass(frozen=True)
class Result:
    """The result of a statement: rows as tuples of Python values, or a status line."""

    columns: tuple[ResultColumn, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    rowcount: int = -1
    status: str = ""
    notices: tuple[str, ...] = ()


def table_result(schema: Schema, data: pa.Table) -> Result:
    """Return the rows of a query."""
    rows = python_rows(data, schema)
    columns = tuple(ResultColumn(f.name, str(f.type)) for f in schema)
    return Result(columns, rows, len(rows), f"SELECT {len(rows)}")


def text_result(status: str, names: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> Result:
    """Return a result of texts from the catalog."""
    found = tuple(rows)
    columns = tuple(ResultColumn(name, "character varying") for name in names)
    return Result(columns, found, len(found), status)


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
