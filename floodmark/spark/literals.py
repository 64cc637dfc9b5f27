"""Constants as Spark SQL text."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.types import spark_type


def literal(value: Any, type_: SqlType) -> str:
    """Return a constant of a type, exactly; NULL keeps the type."""
    name = spark_type(type_)
    if value is None:
        return f"CAST(NULL AS {name})"
    match type_.kind:
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.SMALLINT:
            return f"CAST({value} AS SMALLINT)"
        case Kind.INT:
            return str(value) if value >= 0 else f"({value})"
        case Kind.BIGINT | Kind.TIME:
            return _bigint(value)
        case Kind.NUMERIC:
            return f"CAST('{value:f}' AS {name})"
        case Kind.REAL | Kind.DOUBLE:
            return _float(value, name)
        case Kind.VARCHAR | Kind.JSONB | Kind.UUID | Kind.UNKNOWN:
            return quote(value)
        case Kind.BYTEA:
            return f"X'{bytes(value).hex()}'"
        case Kind.DATE:
            return f"DATE'{value.isoformat()}'"
        case Kind.TIMESTAMP:
            return f"TIMESTAMP_NTZ'{_timestamp(value)}'"
        case Kind.TIMESTAMPTZ:
            return f"TIMESTAMP_LTZ'{_timestamp(value.astimezone(UTC))}Z'"
        case _:
            return _compound(value, type_)


def _compound(value: Any, type_: SqlType) -> str:
    name = spark_type(type_)
    match type_.kind:
        case Kind.INTERVAL:
            months, days, micros = value
            parts = f"'months', {months}, 'days', {days}, 'micros', {_bigint(micros)}"
            return f"CAST(named_struct({parts}) AS {name})"
        case Kind.LIST:
            assert type_.element is not None
            items = ", ".join(literal(v, type_.element) for v in value)
            return f"CAST(array({items}) AS {spark_type(type_)})"
        case Kind.STRUCT:
            pairs = zip(type_.fields, value, strict=True)
            items = ", ".join(f"{quote(f.name)}, {literal(v, f.type)}" for f, v in pairs)
            return f"named_struct({items})"
        case _:
            raise AssertionError(type_)


def _bigint(value: int) -> str:
    # The smallest BIGINT has no literal: its digits are read before the sign.
    if value == -(1 << 63):
        return "CAST('-9223372036854775808' AS BIGINT)"
    return f"{value}L" if value >= 0 else f"({value}L)"


def _float(value: float, name: str) -> str:
    if math.isnan(value):
        return f"CAST('NaN' AS {name})"
    if math.isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS {name})"
    return f"CAST('{value!r}' AS {name})"


def _timestamp(value: datetime) -> str:
    text = f"{value.year:04}-{value:%m-%d %H:%M:%S}"
    return f"{text}.{value.microsecond:06}"


def now_literal(micros: int) -> str:
    """Return the epoch's time as a TIMESTAMP."""
    return f"timestamp_micros({_bigint(micros)})"
