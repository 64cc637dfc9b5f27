"""Intervals times and divided by fractions, as PostgreSQL spreads what is left over.

A fraction of a month becomes days of which it has 30, a fraction of a day becomes time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from floodmark.scalar.functions.datetime import print_interval
from floodmark.scalar.functions.intervals import Interval
from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, null_means
from floodmark.scalar.types import INTERVAL, Kind

_OUT = RowErrorCode.TIME_OUT_OF_RANGE


def _round(value: float) -> float:
    return float(round(value * 1e6)) / 1e6 if math.isfinite(value) else value


def _whole(value: float, bits: int) -> int:
    if not (math.isfinite(value) and -(2.0**bits) <= value < 2.0**bits):
        raise RowError(_OUT)
    return int(value)


def _carry_fractions(months: float, days: float, micros: float) -> Interval:
    month, day = _whole(months, 31), _whole(days, 31)
    left = _round((months - month) * 30)
    seconds = _round((days - day + left - int(left)) * 86400)
    over = int(seconds / 86400)
    day += over + int(left)
    total = micros + (seconds - over * 86400) * 1e6
    if not math.isfinite(total):
        raise RowError(_OUT)
    time = _whole(float(round(total)), 63)
    if not -(1 << 31) <= day < 1 << 31:
        raise RowError(_OUT)
    return month, day, time


def scale_interval(value: Interval, factor: float) -> Interval:
    """Return an interval times a number; raises `RowError` out of range."""
    months, days, micros = (p * factor for p in value)
    return _carry_fractions(months, days, micros)


def divide_interval(value: Interval, factor: float) -> Interval:
    """Return an interval divided by a number; raises `RowError` out of range and for zero."""
    if factor == 0:
        raise RowError(RowErrorCode.DIVISION_BY_ZERO)
    months, days, micros = (float(p) / factor for p in value)
    return _carry_fractions(months, days, micros)


def print_scaled(value: str, factor: str, symbol: str) -> str:
    """Return the Spark text of an interval `*` or `/` a number; NULL out of range."""
    by = f"nullif({factor}, 0)" if symbol == "/" else factor
    parts = ", ".join(
        f"'{name}', CAST({value}.{part} AS DOUBLE) {symbol} {by}"
        for name, part in (("m", "months"), ("d", "days"), ("t", "micros"))
    )
    whole = "named_struct('m', try_cast(a.m AS INT), 'd', try_cast(a.d AS INT), 'l', rint((a.m - try_cast(a.m AS INT)) * 30 * 1e6D) / 1e6D, 'a', a)"  # noqa: E501
    left = "CAST(b.l AS INT)"
    seconds = f"rint((b.a.d - b.d + b.l - {left}) * 86400 * 1e6D) / 1e6D"
    timed = f"named_struct('m', b.m, 'd', CAST(b.d AS BIGINT) + {left}, 's', {seconds}, 't', b.a.t)"
    over = "CAST(c.s / 86400 AS INT)"
    time = f"try_cast(rint(c.t + (c.s - {over} * 86400) * 1e6D) AS BIGINT)"
    # 2^63 would be taken for the largest BIGINT.
    time = f"CASE WHEN abs(c.t) < 9223372036854775807D THEN {time} END"
    result = print_interval("c.m IS NOT NULL", "c.m", f"(c.d + {over})", time)
    chain = f"transform(array(named_struct({parts})), a -> {whole})"
    chain = f"transform({chain}, b -> {timed})"
    return f"transform({chain}, c -> {result})[0]"


def _times(value: int, factor: int) -> Callable[[Operands], str]:
    return lambda o: print_scaled(o[value].sql, o[factor].sql, "*")


def interval_scaling() -> list[Function]:
    """Return `*` and `/` of intervals with DOUBLE; with whole numbers `*` is exact elsewhere."""
    interval, number = Kind.INTERVAL, Kind.DOUBLE
    range_ = null_means(_OUT)
    zero = f"CASE WHEN {{1}} = 0 THEN {RowErrorCode.DIVISION_BY_ZERO.value} ELSE {_OUT.value} END"
    return [
        Function(
            "*", (interval, number), INTERVAL, _times(0, 1), scale_interval, error=range_
        ),
        Function(
            "*", (number, interval), INTERVAL, _times(1, 0),
            lambda f, i: scale_interval(i, f), error=range_,
        ),
        Function(
            "/", (interval, number), INTERVAL, lambda o: print_scaled(o[0].sql, o[1].sql, "/"),
            divide_interval, error=null_means(zero),
        ),
    ]  # fmt: skip
