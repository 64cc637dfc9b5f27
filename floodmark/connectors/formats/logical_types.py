"""Values that change capture writes as numbers and bytes: what their logical types say of them.

The logical type is the name of a field in a message's `schema`. Where a message has none, or one
that is not known here, a whole number is read by the column's type and its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.types import spark_type

DECIMAL = "org.apache.kafka.connect.data.Decimal"
"""The digits of a number as bytes; its scale is a parameter."""
DAY_MICROS = 86_400_000_000
_DEBEZIUM, _CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
DAYS = (f"{_DEBEZIUM}Date", f"{_CONNECT}Date")
TIMES: Mapping[str, int] = {
    f"{_DEBEZIUM}Time": 1_000_000,
    f"{_CONNECT}Time": 1_000_000,
    f"{_DEBEZIUM}MicroTime": 1000,
    f"{_DEBEZIUM}NanoTime": 1,
}
"""Times of day: nanoseconds in the unit."""
TIMESTAMPS: Mapping[str, int] = {
    f"{_DEBEZIUM}Timestamp": 1_000_000,
    f"{_CONNECT}Timestamp": 1_000_000,
    f"{_DEBEZIUM}MicroTimestamp": 1000,
    f"{_DEBEZIUM}NanoTimestamp": 1,
}
"""Moments, with a zone or without: nanoseconds in the unit."""
NAMED = (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.NUMERIC)
"""The types of columns whose values a logical type tells how to read."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The years 1 to 9999."""
_UNITS = ((11, 10**9), (14, 10**6), (17, 1000))


def from_number(raw: str, type_: SqlType, logical: str | None) -> str | None:
    """Return the Spark text that reads a whole number in the cell `raw`, if the type is a time.

    It is NULL for a time of another kind and where the value is out of range: a TIME within a day,
    a year from 1 to 9999. `logical` is the text of the logical type's name.
    """
    number = f"try_cast({raw} AS BIGINT)"
    match type_.kind:
        case Kind.DATE:
            days = _by_name(logical, dict.fromkeys(DAYS, number), number)
            return _date(days)
        case Kind.TIME:
            named = {name: _micros(number, unit) for name, unit in TIMES.items()}
            return within_a_day(_by_name(logical, named, number))
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            named = {name: _micros(number, unit) for name, unit in TIMESTAMPS.items()}
            named |= dict.fromkeys(DAYS, f"try_multiply({number}, {DAY_MICROS}L)")
            micros = _by_name(logical, named, _by_size(number))
            first, last = _FIRST_DAY * DAY_MICROS, (_LAST_DAY + 1) * DAY_MICROS - 1
            moment = f"CAST(timestamp_micros({micros}) AS {spark_type(type_)})"
            return f"CASE WHEN {micros} BETWEEN {first}L AND {last}L THEN {moment} END"
        case _:
            return None


def within_a_day(micros: str) -> str:
    """Return the text of a TIME in microseconds; NULL where it is outside of a day."""
    return f"CASE WHEN {micros} BETWEEN 0 AND {DAY_MICROS - 1}L THEN {micros} END"


def from_bytes(raw: str, type_: SqlType) -> str:
    """Return the text of a decimal from base64: two's complement, big-endian, at most 16 bytes.

    NULL where it is nothing of the kind, or has more digits than the type.
    """
    digits = f"hex(try_to_binary({raw}, 'base64'))"
    sign = f"CASE WHEN {digits} < '8' THEN '0' ELSE 'F' END"
    both = f"CASE WHEN length({digits}) BETWEEN 2 AND 32 THEN lpad({digits}, 32, {sign}) END"
    high = f"CAST(conv(left({both}, 16), 16, -10) AS DECIMAL(19,0))"
    low = f"CAST(conv(right({both}, 16), 16, 10) AS DECIMAL(20,0))"
    whole = f"try_add(try_multiply({high}, 18446744073709551616BD), {low})"
    return f"try_cast(try_multiply({whole}, 1E-{type_.scale}BD) AS {spark_type(type_)})"


def logical_types(schema: str, names: Sequence[str]) -> list[str]:
    """Return the texts of the logical types of fields, from the JSON text of an envelope's schema.

    NULL where the schema says nothing. A Decimal's is followed by `:` and its scale.
    """
    field = "field STRING, name STRING, parameters struct<scale STRING>"
    row = f"struct<field STRING, fields array<struct<{field}>>>"
    envelope = f"from_json({schema}, {quote(f'fields array<{row}>')})"
    rows = (
        f"filter({envelope}.fields, r -> r.field IN ('before', 'after') AND r.fields IS NOT NULL)"
    )
    found = f"get({rows}, 0).fields"
    return [
        f"get(transform(filter({found}, f -> lower(f.field) = {quote(name.lower())}), "
        "f -> concat_ws(':', f.name, f.parameters.scale)), 0)"
        for name in names
    ]


def _by_name(logical: str | None, named: Mapping[str, str], otherwise: str) -> str:
    """Return the text of the value that a logical type tells, NULL for a time of another kind."""
    if logical is None:
        return otherwise
    whens = [f"WHEN {quote(name)} THEN {text}" for name, text in named.items()]
    others = [name for name in (*DAYS, *TIMES, *TIMESTAMPS) if name not in named]
    whens += [f"WHEN {quote(name)} THEN NULL" for name in others]
    return f"CASE {logical} {' '.join(whens)} ELSE {otherwise} END"


def _date(days: str) -> str:
    date = f"date_add(DATE '1970-01-01', CAST({days} AS INT))"
    return f"CASE WHEN {days} BETWEEN {_FIRST_DAY} AND {_LAST_DAY} THEN {date} END"


def _micros(number: str, nanos: int) -> str:
    return f"{number} DIV 1000" if nanos == 1 else f"try_multiply({number}, {nanos // 1000}L)"


def _by_size(number: str) -> str:
    """Seconds below 10^11, then milli-, micro- and nanoseconds."""
    steps = (f"WHEN abs({number}) < 1{'0' * n} THEN {_micros(number, by)}" for n, by in _UNITS)
    return f"CASE {' '.join(steps)} ELSE {_micros(number, 1)} END"
