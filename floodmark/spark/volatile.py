"""Replay-stable values as Spark SQL text: hashes of what identifies the row."""

from __future__ import annotations

from floodmark.plan.expr.expressions import Volatile
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.volatile import CLOCK, NO_VALUE, RowSeed
from floodmark.scalar.types import BIGINT, VARCHAR, Kind, SqlType
from floodmark.spark.casts import print_cast
from floodmark.spark.literals import now_literal
from floodmark.spark.types import ident

_UUID_PARTS = "'^(.{8})(.{4})(.{4})(.{4})(.{12})$', '$1-$2-$3-$4-$5'"


def print_volatile(call: Volatile, seed: RowSeed, now_micros: int | None) -> str:
    """Return the text of a volatile function's value, a pure function of the row.

    It is the same as `floodmark.scalar.functions.volatile.replay` of the same row.
    """
    if call.function == CLOCK:
        assert now_micros is not None, "clock_timestamp() is the time of an epoch"
        return now_literal(now_micros)
    text = _text(call.position, seed)
    if call.function == "random":
        bits = f"shiftrightunsigned(xxhash64({text}), 11)"
        return f"(CAST({bits} AS DOUBLE) / 9007199254740992D)"
    assert call.function == "gen_random_uuid", call.function
    high = f"xxhash64(concat({text}, '#1')) & -61441L | 16384L"
    low = f"xxhash64(concat({text}, '#2')) & 4611686018427387903L"
    low = f"{low} | CAST('-9223372036854775808' AS BIGINT)"
    digits = ", ".join(f"lpad(hex({half}), 16, '0')" for half in (high, low))
    return f"regexp_replace(lower(concat({digits})), {_UUID_PARTS})"


def _text(position: int, seed: RowSeed) -> str:
    parts = [_part(ident(name), type_) for name, type_ in seed.key]
    if seed.epoch is not None:
        parts.append(_part(ident(seed.epoch), BIGINT))
    return f"concat({', '.join([quote(seed.prefix(position)), *parts])})"


def _part(value: str, type_: SqlType) -> str:
    if type_.kind in (Kind.REAL, Kind.DOUBLE):
        # -0.0 and 0.0 are one key.
        value = f"({value} + CAST(0 AS {'FLOAT' if type_.kind is Kind.REAL else 'DOUBLE'}))"
    text, _ = print_cast(value, type_, VARCHAR)
    counted = f"concat(CAST(length({text}) AS STRING), ':', {text})"
    return f"CASE WHEN {value} IS NULL THEN '{NO_VALUE}' ELSE {counted} END"
