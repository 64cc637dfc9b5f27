"""Variance and standard deviation of whole numbers and NUMERIC, kept by addition alone.

The sum and the sum of squares are exact: `low` and `high` are the last 20 digits of the squares and
those before. The squares around the whole number nearest to the mean follow from them without
rounding. The distance of the mean from that number takes at most half of them away, so that a
double loses no digits. An argument is at most 18 digits; longer ones go the way of doubles.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from floodmark.scalar.functions.additive import bind_once, print_additive
from floodmark.scalar.functions.model import (
    Accumulator,
    AggregateFunction,
    Decomposition,
    Operands,
    SetRows,
    Types,
)
from floodmark.scalar.functions.sums import NONNULL, times
from floodmark.scalar.functions.variance import MEMBERS, present, print_passes, two_passes
from floodmark.scalar.promotion import bounds
from floodmark.scalar.types import DOUBLE, Kind, SqlType, numeric

_WHOLE = numeric(38, 0)
_DIGITS = 18
_UNIT = 10**20
_LIMIT = 10**38

_COUNT = "CAST({nonnull} AS DECIMAL(20,0))"
_CENTRE = (
    f"CAST((2BD * {{sum}} + CAST(sign({{sum}}) AS DECIMAL(1,0)) * {_COUNT}) div (2BD * {_COUNT})"
    " AS DECIMAL(19,0))"
)
_PARTS = (
    f"struct({{sum}} - centre * {_COUNT} AS rest, "
    f"{{high}} - {_COUNT} * CAST((centre * centre) div {_UNIT}BD AS DECIMAL(20,0)) AS high, "
    f"{{low}} - {_COUNT} * ((centre * centre) % {_UNIT}BD) "
    f"- 2BD * centre * ({{sum}} - centre * {_COUNT}) AS low)"
)
_SQUARES = (
    f"coalesce(CAST(try_add(try_multiply(part.high, {_UNIT}BD), part.low) AS DOUBLE), "
    "CAST(part.high AS DOUBLE) * 1e20D + CAST(part.low AS DOUBLE))"
)
_BESIDE = "CAST(part.rest AS DOUBLE) * CAST(part.rest AS DOUBLE) / CAST({nonnull} AS DOUBLE)"


def exact_variances() -> list[AggregateFunction]:
    """Return the family for whole numbers and NUMERIC; results are DOUBLE."""
    kinds = (Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC)
    return [_variance_of(name, kind, *flags) for name, flags in MEMBERS.items() for kind in kinds]


def _variance_of(name: str, kind: Kind, sample: bool, root: bool) -> AggregateFunction:
    least = 1 if sample else 0

    def python(rows: SetRows, types: Types, _: SqlType) -> float | None:
        values = present(rows)
        if len(values) <= least:
            return None
        spread = (
            _exact_variance(values, types[0], least) if _fits(types) else two_passes(values, least)
        )
        return math.sqrt(spread) if root else spread

    def decompose(types: Types, _: SqlType) -> Decomposition:
        return Decomposition(_accumulators(types[0]), _finish(types[0], least, root))

    def spark(o: Operands) -> str:
        types = (o[0].type,)
        return (
            print_additive(decompose(types, DOUBLE)) if _fits(types) else print_passes(least, root)
        )

    return AggregateFunction(name, (kind,), DOUBLE, spark, python, decompose=decompose, adds=_fits)


def _fits(types: Types) -> bool:
    return types[0].kind is not Kind.NUMERIC or bounds(types[0])[0] <= _DIGITS


def _scale(type_: SqlType) -> int:
    return bounds(type_)[1] if type_.kind is Kind.NUMERIC else 0


def _accumulators(type_: SqlType) -> tuple[Accumulator, ...]:
    scale = _scale(type_)
    moved = f"{{0}} * {10**scale}BD" if scale else "{0}"
    whole = f"CAST({moved} AS DECIMAL(19,0))"
    return (
        Accumulator("sum", _WHOLE, times(whole, _WHOLE)),
        Accumulator("high", _WHOLE, times(f"(({whole} * {whole}) div {_UNIT}BD)", _WHOLE)),
        Accumulator("low", _WHOLE, times(f"(({whole} * {whole}) % {_UNIT}BD)", _WHOLE)),
        NONNULL,
    )


def _finish(type_: SqlType, least: int, root: bool) -> str:
    spread = f"({_SQUARES} - {_BESIDE}) / CAST({{nonnull}} - {least} AS DOUBLE)"
    if _scale(type_):
        spread = f"{spread} / 1e{2 * _scale(type_)}D"
    value = bind_once(
        _CENTRE, "centre", bind_once(_PARTS, "part", f"sqrt({spread})" if root else spread)
    )
    return f"CASE WHEN {{nonnull}} > {least} THEN {value} END"


def _exact_variance(values: list[Any], type_: SqlType, least: int) -> float:
    """Return the variance of exact numbers as the accumulators give it."""
    scale = _scale(type_)
    whole = [int(Decimal(value).scaleb(scale)) for value in values]
    count, total = len(whole), sum(whole)
    centre = (2 * abs(total) + count) // (2 * count) * (-1 if total < 0 else 1)
    rest, square = total - centre * count, centre * centre
    high = sum(v * v // _UNIT for v in whole) - count * (square // _UNIT)
    low = sum(v * v % _UNIT for v in whole) - count * (square % _UNIT) - 2 * centre * rest
    if abs(high * _UNIT) < _LIMIT and abs(high * _UNIT + low) < _LIMIT:
        squares = float(high * _UNIT + low)
    else:
        squares = float(high) * 1e20 + float(low)
    spread = (squares - float(rest) * float(rest) / float(count)) / float(count - least)
    return spread / float(f"1e{2 * scale}") if scale else spread
