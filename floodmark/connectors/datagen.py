"""The `datagen` connector: rows of any schema, drawn from a seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.generated import GeneratedConnector, hash_of, number_below, unit
from floodmark.connectors.options import LARGEST, Options
from floodmark.errors import UserError
from floodmark.scalar.functions.intervals import LAST
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Field, Kind, Schema
from floodmark.spark.types import ident, spark_type

OPTIONS = ("datagen.rows", "datagen.rows.per.second", "datagen.start", "datagen.seed")
FIELD_OPTIONS = ("kind", "start", "end", "min", "max", "length", "seed", "nulls", "step")
_EPOCH = "2024-01-01 00:00:00"
_MOST = 2**46
"""Rows that one source has at most."""
_LARGEST_OF = {Kind.SMALLINT: 2**15 - 1, Kind.INT: 2**31 - 1, Kind.BIGINT: LARGEST}


def make_datagen(spec: SourceSpec, options: Options) -> GeneratedConnector:
    """Make the connector.

    Options: `datagen.rows` (how many in all), `datagen.rows.per.second` with `datagen.start` (rows
    appear over time), `datagen.seed`; per field `fields.<name>.kind` = sequence | random with
    `start`, `end` (a sequence repeats after it), `step` (seconds, for timestamps), `min`, `max`,
    `length` (of text), `nulls` (share from 0 to 1) and `seed`.
    """
    names = [f"fields.{c.name}.{option}" for c in spec.schema for option in FIELD_OPTIONS]
    options.check_names((*OPTIONS, *names))
    seed = options.integer("datagen.seed", 0)
    return GeneratedConnector(
        spec=spec,
        available=_available(options),
        columns=tuple(
            f"{_column(options, c, seed, tag)} AS {ident(c.name)}"
            for tag, c in enumerate(spec.schema)
        ),
        ranges=_ranges(options, spec.schema),
    )


def _available(options: Options) -> Callable[[], int]:
    if "datagen.rows.per.second" not in options.values:
        rows = options.integer("datagen.rows", least=0, most=_MOST)
        return lambda: rows
    rate = options.integer("datagen.rows.per.second", least=1, most=10**9)
    start = _moment(options, "datagen.start", _EPOCH)
    most = options.integer("datagen.rows", _MOST, least=0, most=_MOST)
    return lambda: max(0, min(most, int((time.time() - start.timestamp()) * rate)))


def _moment(options: Options, name: str, default: str) -> datetime:
    try:
        moment = datetime.fromisoformat(options.text(name, default))
    except ValueError:
        raise options.wrong(name, "a timestamp", "2015-07-15 00:00:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _ranges(options: Options, schema: Schema) -> dict[str, Callable[[int, int], tuple[int, int]]]:
    def range_from(first: int) -> Callable[[int, int], tuple[int, int]]:
        return lambda low, high: (first + low, first + high)

    return {
        c.name: range_from(options.integer(f"fields.{c.name}.start", 0))
        for c in schema
        if c.type.is_integer
        and options.text(f"fields.{c.name}.kind", "random") == "sequence"
        and f"fields.{c.name}.end" not in options.values
        and f"fields.{c.name}.nulls" not in options.values
    }


def _column(options: Options, column: Field, seed: int, tag: int) -> str:
    """Return the Spark text of one column over the row number `id`."""
    prefix = f"fields.{column.name}"
    kind = options.choice(f"{prefix}.kind", ("sequence", "random"), "random")
    seed = options.integer(f"{prefix}.seed", seed)
    bits = hash_of(seed, 2 * tag)
    value = (
        _sequence(options, column, prefix)
        if kind == "sequence"
        else (_random(options, column, prefix, bits))
    )
    text = f"CAST({value} AS {spark_type(column.type)})"
    share = options.number(f"{prefix}.nulls", 0.0, least=0, most=1)
    if share <= 0:
        return text
    return f"CASE WHEN {unit(hash_of(seed, 2 * tag + 1))} >= {share!r}D THEN {text} END"


def _sequence(options: Options, column: Field, prefix: str) -> str:
    if column.type.is_timestamp or column.type.kind is Kind.DATE:
        start = int(_moment(options, f"{prefix}.start", _EPOCH).timestamp() * 1_000_000)
        step = int(options.number(f"{prefix}.step", 1.0, least=-1e9, most=1e9) * 1_000_000)
        return _from_micros(f"{start}L + id * {step}L", column)
    most = _LARGEST_OF.get(column.type.kind, LARGEST)
    start = options.integer(f"{prefix}.start", 0, least=-most, most=most)
    number = "id"
    if f"{prefix}.end" in options.values:
        most = min(most, start + LARGEST - 1)
        count = options.integer(f"{prefix}.end", least=start, most=most) - start + 1
        number = number_below("id", count)
    return f"({start}L + {number})"


def _random(options: Options, column: Field, prefix: str, bits: str) -> str:
    match column.type.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            most = _LARGEST_OF[column.type.kind]
            low = options.integer(f"{prefix}.min", 0, least=-most, most=most)
            most = min(most, low + LARGEST - 1)
            high = options.integer(f"{prefix}.max", max(low, 32_767), least=low, most=most)
            return f"({low}L + {number_below(bits, high - low + 1)})"
        case Kind.REAL | Kind.DOUBLE | Kind.NUMERIC:
            low_number = options.number(f"{prefix}.min", 0.0)
            width = options.number(f"{prefix}.max", 1.0) - low_number
            return f"({low_number!r}D + {unit(bits)} * {width!r}D)"
        case Kind.BOOLEAN:
            return f"({number_below(bits, 2)} = 1)"
        case Kind.VARCHAR:
            length = options.integer(f"{prefix}.length", 10, least=0, most=1_000_000)
            return f"substr(repeat(hex({bits}), {length // 16 + 1}), 1, {length})"
        case Kind.UUID:
            return f"regexp_replace(md5(CAST({bits} AS STRING)), {_UUID_PARTS})"
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.DATE:
            low_moment = _moment(options, f"{prefix}.min", _EPOCH)
            high_moment = _moment(options, f"{prefix}.max", "2025-01-01 00:00:00")
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
