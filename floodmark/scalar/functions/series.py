"""generate_series: from start to stop by step, both ends included.

As PostgreSQL has it, a step of months is taken again and again from where the last one led: from
January 31 it leads to February 29 and then to March 29. A series of more than a million values, or
of more than ten thousand by months, has none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from floodmark.scalar.functions import intervals as cal
from floodmark.scalar.functions.datetime import print_shift
from floodmark.scalar.functions.model import Operand, Operands, RowError, RowErrorCode
from floodmark.scalar.types import Kind

LONGEST, MOST_MONTHS = 1_000_000, 10_000
_SHORTEST_MONTH = 28 * cal.DAY_MICROS


def series(start: Any, stop: Any, step: Any = 1) -> tuple[Any, ...]:
    """Return the values from start to stop, numbers or timestamps.

    Raises `RowError` INVALID_ARGUMENT for a step of nothing or of parts that point both ways, and
    for more values than a row may become.

    >>> series(1, 7, 3), series(3, 1, -1), series(3, 1)
    ((1, 4, 7), (3, 2, 1), ())
    """
    if not isinstance(start, datetime):
        _check(step != 0 and (stop - start) // step < LONGEST)
        return tuple(range(start, stop + (1 if step > 0 else -1), step))
    if step[0]:
        return _month_series(start, stop, step)
    low, high, by = cal.micros_of(start), cal.micros_of(stop), step[1] * cal.DAY_MICROS + step[2]
    zoned = start.tzinfo is not None
    return tuple(cal.datetime_of(value, zoned=zoned) for value in series(low, high, by))


def _month_series(start: datetime, stop: datetime, step: cal.Interval) -> tuple[datetime, ...]:
    sign = 1 if step[0] > 0 else -1
    far = (cal.micros_of(stop) - cal.micros_of(start)) * sign
    _check(all(part * sign >= 0 for part in step))
    _check(far // (abs(step[0]) * _SHORTEST_MONTH) < MOST_MONTHS)
    out: list[datetime] = []
    at = start
    while (at <= stop) if sign > 0 else (at >= stop):
        out.append(at)
        try:
            at = cal.add_interval(at, step)
        except RowError:
            break
    return tuple(out)


def _check(holds: bool) -> None:
    if not holds:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)


def print_numbers(o: Operands) -> str:
    """Return the Spark text of a series of integers."""
    step = o[2].sql if len(o) > 2 else "1"
    return _numbers(o[0].sql, o[1].sql, step, "BIGINT" if o[0].type.kind is Kind.BIGINT else "INT")


def print_times(o: Operands) -> str:
    """Return the Spark text of a series of timestamps."""
    constant = o[2].constant
    if o[2].is_constant and (constant is None or not constant[0]):
        return _print_micro_series(o)
    if o[2].is_constant:
        return _monthly(o)
    return f"CASE WHEN {o[2]}.months = 0 THEN {_print_micro_series(o)} ELSE {_monthly(o)} END"


def _numbers(low: str, high: str, step: str, type_: str) -> str:
    """Return the text for integers; the arithmetic is wider than they are, so none overflows."""
    far, by = f"(CAST({high} AS DECIMAL(20,0)) - {low})", f"CAST({step} AS DECIMAL(20,0))"
    return (
        f"CASE WHEN {step} = 0 THEN NULL "
        f"WHEN {far} <> 0 AND ({far} > 0) <> ({step} > 0) THEN slice(array({low}), 1, 0) "
        f"WHEN abs({far}) >= {LONGEST} * abs({by}) THEN NULL "
        f"WHEN abs({far}) < abs({by}) THEN array({low}) "
        # Spark's own sequence fails where stop less start is no BIGINT.
        f"WHEN abs({far}) > {2**63 - 1} THEN transform(sequence(0, CAST(abs({far}) div abs({by}) "
        f"AS INT)), __i -> CAST({low} + __i * {by} AS {type_})) "
        f"ELSE sequence({low}, {high}, try_cast({step} AS {type_})) END"
    )


def _micros(o: Operand) -> str:
    if o.type.kind is Kind.TIMESTAMPTZ:
        return f"unix_micros({o})"
    return f"unix_micros(CAST({o} AS TIMESTAMP_LTZ))"


def _print_micro_series(o: Operands) -> str:
    word = "TIMESTAMP_LTZ" if o[0].type.kind is Kind.TIMESTAMPTZ else "TIMESTAMP_NTZ"
    step = f"(CAST({o[2]}.days AS DECIMAL(20,0)) * {cal.DAY_MICROS} + {o[2]}.micros)"
    values = _numbers(_micros(o[0]), _micros(o[1]), step, "BIGINT")
    return f"transform({values}, __m -> CAST(timestamp_micros(__m) AS {word}))"


def _monthly(o: Operands) -> str:
    """Return the text of steps from step to step: each starts where the last one led."""
    months, days, micros = (f"{o[2]}.{part}" for part in ("months", "days", "micros"))
    far = f"({_micros(o[1])} - {_micros(o[0])})"
    back = f"({far} < 0) <> ({months} < 0)"
    least = f"(abs(CAST({months} AS DECIMAL(12,0))) * {_SHORTEST_MONTH})"
    count = f"CAST(floor(try_divide(abs({far}), {least})) AS BIGINT)"
    next_ = print_shift("element_at(__a, -1)", o[2], 1)
    inside = f"CASE WHEN {months} > 0 THEN {next_} <= {o[1]} ELSE {next_} >= {o[1]} END"
    taken = f"CASE WHEN {inside} THEN concat(__a, array({next_})) ELSE __a END"
    walked = f"aggregate(sequence(1L, {count} + 1), array({o[0]}), (__a, __i) -> {taken})"
    mixed = f"{days} * sign({months}) < 0 OR {micros} * sign({months}) < 0"
    return (
        f"CASE WHEN {mixed} THEN NULL "
        f"WHEN {far} <> 0 AND {back} THEN slice(array({o[0]}), 1, 0) "
        f"WHEN abs({far}) >= {MOST_MONTHS} * {least} THEN NULL ELSE {walked} END"
    )
