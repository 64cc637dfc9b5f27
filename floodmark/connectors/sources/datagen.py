"""The `datagen` connector: rows of any schema, drawn from a seed."""

from __future__ import annotations

import time
from collections.abc import Callable

from floodmark.catalog.option_table import FIELDS
from floodmark.catalog.option_values import LARGEST, Integer, Number, Timestamp
from floodmark.connectors.base import SourceSpec
from floodmark.connectors.options import FIELD, Options
from floodmark.connectors.sources.generated import GeneratedConnector, hash_of, number_below, unit
from floodmark.errors import UserError
from floodmark.scalar.functions.intervals import LAST
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Field, Kind, Schema
from floodmark.spark.types import ident, spark_type

_EPOCH = "2024-01-01 00:00:00"
_MOST = 2**46
"""Rows that one source has at most."""
_LARGEST_OF = {Kind.SMALLINT: 2**15 - 1, Kind.INT: 2**31 - 1, Kind.BIGINT: LARGEST}


def make_datagen(spec: SourceSpec, options: Options) -> GeneratedConnector:
    """Make the connector from a source's options."""
    options.check_names(*(FIELD.format(column=c.name, name=n) for c in spec.schema for n in FIELDS))
    seed = options.read_option("datagen.seed")
    return GeneratedConnector(
        spec=spec,
        available=_available(options),
        columns=tuple(
            f"{_column(options, c, seed, tag)} AS {ident(c.name)}"
            for tag, c in enumerate(spec.schema)
        ),
        ranges=_ranges(options, spec.schema),
        task_rows=options.limits.generated_task_rows,
    )


def _available(options: Options) -> Callable[[], int]:
    if "datagen.rows.per.second" not in options.values:
        rows = options.read_option("datagen.rows")
        return lambda: rows
    rate = options.read_option("datagen.rows.per.second")
    start = options.read_option("datagen.start")
    most = options.read_option("datagen.rows", str(_MOST))
    return lambda: max(0, min(most, int((time.time() - start.timestamp()) * rate)))


def _ranges(options: Options, schema: Schema) -> dict[str, Callable[[int, int], tuple[int, int]]]:
    def range_from(first: int) -> Callable[[int, int], tuple[int, int]]:
        return lambda low, high: (first + low, first + high)

    return {
        c.name: range_from(options.read_field(c.name, "start", Integer(), "0"))
        for c in schema
        if c.type.is_integer
        and options.read_field(c.name, "kind") == "sequence"
        and not options.has_field(c.name, "end")
        and not options.has_field(c.name, "nulls")
    }


def _column(options: Options, column: Field, seed: int, tag: int) -> str:
    """Return the Spark text of one column over the row number `id`."""
    kind = options.read_field(column.name, "kind")
    seed = options.read_field(column.name, "seed", default=str(seed))
    bits = hash_of(seed, 2 * tag)
    value = _sequence(options, column) if kind == "sequence" else _random(options, column, bits)
    text = f"CAST({value} AS {spark_type(column.type)})"
    share = options.read_field(column.name, "nulls")
    if share <= 0:
        return text
    return f"CASE WHEN {unit(hash_of(seed, 2 * tag + 1))} >= {share!r}D THEN {text} END"


def _sequence(options: Options, column: Field) -> str:
    if column.type.is_timestamp or column.type.kind is Kind.DATE:
        first = options.read_field(column.name, "start", Timestamp(), _EPOCH)
        start = int(first.timestamp() * 1_000_000)
        step = int(options.read_field(column.name, "step") * 1_000_000)
        return _from_micros(f"{start}L + id * {step}L", column)
    most = _LARGEST_OF.get(column.type.kind, LARGEST)
    start = options.read_field(column.name, "start", Integer(-most, most), "0")
    number = "id"
    if options.has_field(column.name, "end"):
        most = min(most, start + LARGEST - 1)
        count = options.read_field(column.name, "end", Integer(start, most)) - start + 1
        number = number_below("id", count)
    return f"({start}L + {number})"


def _random(options: Options, column: Field, bits: str) -> str:
    match column.type.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            most = _LARGEST_OF[column.type.kind]
            low = options.read_field(column.name, "min", Integer(-most, most), "0")
            most = min(most, low + LARGEST - 1)
            high = options.read_field(column.name, "max", Integer(low, most), str(max(low, 32_767)))
            return f"({low}L + {number_below(bits, high - low + 1)})"
        case Kind.REAL | Kind.DOUBLE | Kind.NUMERIC:
            low_number = options.read_field(column.name, "min", Number(), "0.0")
            width = options.read_field(column.name, "max", Number(), "1.0") - low_number
            return f"({low_number!r}D + {unit(bits)} * {width!r}D)"
        case Kind.BOOLEAN:
            return f"({number_below(bits, 2)} = 1)"
        case Kind.VARCHAR:
            length = options.read_field(column.name, "length")
            return f"substr(repeat(hex({bits}), {length // 16 + 1}), 1, {length})"
        case Kind.UUID:
            return f"regexp_replace(md5(CAST({bits} AS STRING)), {_UUID_PARTS})"
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.DATE:
            low_moment = options.read_field(column.name, "min", Timestamp(), _EPOCH)
            high_moment = options.read_field(column.name, "max", Timestamp(), "2025-01-01 00:00:00")
            start = int(low_moment.timestamp() * 1_000_000)
            count = max(1, int(high_moment.timestamp() * 1_000_000) - start)
            return _from_micros(f"{start}L + {number_below(bits, count)}", column)
        case _:
            raise UserError(
                "E0480",
                f"source {options.source}: datagen makes no values of type {column.type} "
                f"(column {column.name})",
                hint="declare a scalar column and compute the rest in a query",
            )


_UUID_PARTS = f"{quote('^(.{8})(.{4})(.{4})(.{4})(.{12})$')}, '$1-$2-$3-$4-$5'"


def _from_micros(micros: str, column: Field) -> str:
    """Return the Spark text of a time; one beyond the years is the last that there is."""
    moment = f"timestamp_micros(least({micros}, {LAST}L))"
    return moment if column.type.kind is Kind.TIMESTAMPTZ else f"CAST({moment} AS TIMESTAMP_NTZ)"
