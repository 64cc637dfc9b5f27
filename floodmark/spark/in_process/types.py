"""Types of Spark as Arrow has them, and the casts that both do alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one

from floodmark.spark.in_process.frame import UnsupportedQuery

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""The digits of the decimals that whole numbers of so many bits become."""
MOST_DIGITS = 38
"""No decimal has more digits."""
_NUMBER = re.compile("[+-]?[0-9]+")
"""The texts that are whole numbers here and in Spark."""


@cache
def schema_of(ddl: str) -> tuple[tuple[str, pa.DataType], ...]:
    """Return the names and types of a schema that is given as text."""
    cast = parse_one(f"CAST(NULL AS STRUCT<{ddl}>)", dialect="spark")
    return tuple(map(_field_of, cast.args["to"].expressions))


def _field_of(column: exp.ColumnDef) -> tuple[str, pa.DataType]:
    if column.find(exp.CollateColumnConstraint):
        raise UnsupportedQuery(f"the collation of {column.name}")
    return column.name, type_of(column.args["kind"])


def type_of(type_: exp.DataType) -> pa.DataType:
    """Return a type of Spark as Arrow has it."""
    import pyarrow as pa

    parts = type_.expressions
    if type_.args.get("collate"):
        raise UnsupportedQuery("a collation")
    match type_.this:
        case exp.DType.BOOLEAN:
            return pa.bool_()
        case exp.DType.TINYINT:
            return pa.int8()
        case exp.DType.SMALLINT:
            return pa.int16()
        case exp.DType.INT:
            return pa.int32()
        case exp.DType.BIGINT:
            return pa.int64()
        case exp.DType.FLOAT:
            return pa.float32()
        case exp.DType.DOUBLE:
            return pa.float64()
        case exp.DType.TEXT:
            return pa.string()
        case exp.DType.BINARY:
            return pa.binary()
        case exp.DType.DATE:
            return pa.date32()
        case exp.DType.TIMESTAMPNTZ:
            return pa.timestamp("us")
        case exp.DType.TIMESTAMPLTZ:
            return pa.timestamp("us", "UTC")
        case exp.DType.DECIMAL if len(parts) == 2:
            return pa.decimal128(int(parts[0].name), int(parts[1].name))
        case exp.DType.ARRAY if len(parts) == 1:
            return pa.list_(pa.field("element", type_of(parts[0])))
        case exp.DType.STRUCT:
            return pa.struct(list(map(_field_of, parts)))
        case other:
            raise UnsupportedQuery(f"the type {other}")


def common_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type that values of some types are brought to, as CASE and coalesce do."""
    import pyarrow as pa

    known = [t for t in dict.fromkeys(types) if not pa.types.is_null(t)]
    if len(known) <= 1:
        return known[0] if known else pa.null()
    if all(pa.types.is_integer(t) for t in known):
        return max(known, key=lambda t: t.bit_width)
    decimals = [as_decimal(t) for t in known]
    scale = max(t.scale for t in decimals)
    whole = max(t.precision - t.scale for t in decimals)
    if whole + scale > MOST_DIGITS:
        raise UnsupportedQuery(f"a common type of {known}")
    return pa.decimal128(whole + scale, scale)


def as_decimal(type_: pa.DataType) -> pa.Decimal128Type:
    """Return the decimals that numbers of a type become beside other decimals."""
    import pyarrow as pa

    if pa.types.is_decimal128(type_):
        return type_
    if pa.types.is_integer(type_):
        return pa.decimal128(_DIGITS[type_.bit_width], 0)
    raise UnsupportedQuery(f"decimals of {type_}")


def is_exact(type_: pa.DataType) -> bool:
    """Tell whether a type is one of whole numbers or decimals."""
    import pyarrow as pa

    return bool(pa.types.is_integer(type_) or pa.types.is_decimal(type_))


def cast(values: pa.Array | pa.Scalar, target: pa.DataType) -> pa.Array | pa.Scalar:
    """Return values as a type; what loses anything raises, or is cast otherwise by Spark."""
    import pyarrow as pa
    from pyarrow import compute as pc

    source = values.type
    if source == target:
        return values
    if pa.types.is_null(source):
        return nulls(values, target)
    if not (is_exact(source) and is_exact(target)):
        return _cast_others(values, target)
    if pa.types.is_integer(source) and pa.types.is_decimal(target):
        # Arrow asks for room for any number of the type.
        room = pa.decimal256(_DIGITS[source.bit_width] + target.scale, target.scale)
        values = pc.cast(values, room)
    elif pa.types.is_decimal(target) and pa.types.is_decimal(source):
        more = target.scale - source.scale
        if more < 0:
            values = pc.round(values, target.scale, round_mode="half_towards_infinity")
        elif more:
            # Arrow notices no overflow within 128 bits.
            values = pc.cast(values, pa.decimal256(source.precision + more, target.scale))
    return pc.cast(values, target)


def _cast_others(values: pa.Array | pa.Scalar, target: pa.DataType) -> pa.Array | pa.Scalar:
    import pyarrow as pa
    from pyarrow import compute as pc

    source = values.type
    constant = isinstance(values, pa.Scalar)
    if pa.types.is_timestamp(source) and pa.types.is_timestamp(target):
        # Sessions are of the zone UTC.
        return pc.cast(pc.cast(values, pa.int64()), target)
    if pa.types.is_timestamp(source) and pa.types.is_date32(target):
        plain = pc.cast(pc.cast(values, pa.int64()), pa.timestamp("us"))
        return pc.cast(pc.floor_temporal(plain, unit="day"), target)
    if pa.types.is_boolean(source) and pa.types.is_integer(target):
        return pc.cast(values, target)
    texts = pa.types.is_integer(source) and pa.types.is_string(target)
    floats = pa.types.is_integer(source) and pa.types.is_float64(target) and source.bit_width < 64
    # The engine prints constants of these types as texts.
    read = constant and pa.types.is_string(source)
    if read and pa.types.is_timestamp(target) and target.tz is not None:
        text = values.as_py()
        if not text.endswith("Z"):
            raise UnsupportedQuery("a time of no zone")
        return pc.cast(pc.cast(pa.scalar(text[:-1]), pa.timestamp("us")), target)
    read &= is_exact(target) or pa.types.is_date32(target) or pa.types.is_timestamp(target)
    if read and pa.types.is_decimal(target):
        values = pc.cast(values, pa.decimal256(76, target.scale))
    if read and pa.types.is_integer(target) and not _NUMBER.fullmatch(values.as_py() or "0"):
        raise UnsupportedQuery("a text that is no plain number")
    if texts or floats or read:
        return pc.cast(values, target)
    structs = not constant and pa.types.is_struct(source) and pa.types.is_struct(target)
    if structs and [f.type for f in source] == [f.type for f in target]:
        fields = list(target)
        return pa.StructArray.from_arrays(values.flatten(), fields=fields, mask=values.is_null())
    raise UnsupportedQuery(f"a cast of {source} to {target}")


def nulls(like: pa.Array | pa.Scalar, type_: pa.DataType) -> pa.Array | pa.Scalar:
    """Return NULLs of a type, as many as there are values."""
    import pyarrow as pa

    return pa.scalar(None, type_) if isinstance(like, pa.Scalar) else pa.nulls(len(like), type_)


def repeat_constant(values: pa.Array | pa.Scalar, rows: int) -> pa.Array:
    """Return a constant as often as there are rows; other values as they are."""
    import pyarrow as pa

    if not isinstance(values, pa.Scalar):
        return values
    if not values.is_valid:
        return pa.nulls(rows, values.type)
    return pa.repeat(values, rows)
