"""Ages, bins and makers of times; arithmetic on times of day; intervals made regular."""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from floodmark.errors import BindError
from floodmark.scalar.functions import intervals as cal
from floodmark.scalar.functions.datetime import print_interval
from floodmark.scalar.functions.intervals import DAY_MICROS, Interval
from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, null_means
from floodmark.scalar.functions.years import limit_to_years
from floodmark.scalar.types import BOOLEAN, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, Kind

_TS, _TZ, _I, _D = Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.INT, Kind.DOUBLE
_RANGE = null_means(RowErrorCode.TIME_OUT_OF_RANGE)
_OUT = RowError(RowErrorCode.TIME_OUT_OF_RANGE)


def age(later: datetime, earlier: datetime) -> Interval:
    """Return the difference in years, months, days and time, as people count.

    >>> age(datetime(2024, 3, 1), datetime(2023, 12, 31))
    (2, 1, 0)
    """
    sign = 1 if later >= earlier else -1
    high, low = (later, earlier) if sign > 0 else (earlier, later)
    months = (high.year - low.year) * 12 + high.month - low.month
    days = high.day - low.day
    micros = cal.micros_of(high) % DAY_MICROS - cal.micros_of(low) % DAY_MICROS
    if micros < 0:
        micros, days = micros + DAY_MICROS, days - 1
    if days < 0:
        # A month is borrowed with the length of the earlier date's.
        days, months = days + calendar.monthrange(low.year, low.month)[1], months - 1
    return sign * months, sign * days, sign * micros


def _print_age(o: Operands) -> str:
    clock = "pmod(unix_micros(CAST({} AS TIMESTAMP_LTZ)), 86400000000)"
    ends = f"named_struct('h', greatest({o[0]}, {o[1]}), 'l', least({o[0]}, {o[1]}), 's', CASE WHEN {o[0]} >= {o[1]} THEN 1 ELSE -1 END)"  # noqa: E501
    raw = (
        "named_struct('s', e.s, 'l', e.l, "
        "'m', (year(e.h) - year(e.l)) * 12 + month(e.h) - month(e.l), "
        "'d', day(e.h) - day(e.l) - CASE WHEN {h} < {l} THEN 1 ELSE 0 END, "
        "'t', {h} - {l} + CASE WHEN {h} < {l} THEN 86400000000L ELSE 0L END)"
    ).format(h=clock.format("e.h"), l=clock.format("e.l"))
    borrowed = "CASE WHEN e.d < 0 THEN {} ELSE 0 END"
    value = print_interval(
        "e.s IS NOT NULL",
        f"e.s * (e.m - {borrowed.format('1')})",
        f"e.s * (e.d + {borrowed.format('day(last_day(e.l))')})",
        "e.s * e.t",
    )
    guarded = f"CASE WHEN {o[0]} IS NOT NULL AND {o[1]} IS NOT NULL THEN array({ends}) END"
    return f"transform(transform({guarded}, e -> {raw}), e -> {value})[0]"


def _bin_micros(o: Operands) -> int:
    stride = o[0].constant
    if not isinstance(stride, tuple) or stride[0] != 0 or stride[1] * DAY_MICROS + stride[2] <= 0:
        raise BindError(
            "E0286",
            "date_bin needs a positive interval without months",
            hint="such as INTERVAL '15 minutes'; date_trunc cuts to months",
        )
    micros: int = stride[1] * DAY_MICROS + stride[2]
    return micros


def _bin(stride: Interval, value: datetime, origin: datetime) -> datetime:
    micros = stride[1] * DAY_MICROS + stride[2]
    past = (cal.micros_of(value) - cal.micros_of(origin)) % micros
    try:
        return value - timedelta(microseconds=past)
    except OverflowError:
        raise _OUT from None


def _bins() -> list[Function]:
    def spark(o: Operands) -> str:
        past = f"pmod(timestampdiff(MICROSECOND, {o[2]}, {o[1]}), {_bin_micros(o)}L)"
        return f"timestampadd(MICROSECOND, -({past}), {o[1]})"

    return [
        limit_to_years(Function(
            "date_bin", (Kind.INTERVAL, kind, kind), result, spark, _bin,
            constant=frozenset({0}), monotone=1,
        ))
        for kind, result in ((_TS, TIMESTAMP), (_TZ, TIMESTAMPTZ))
    ]  # fmt: skip


_CLOCK_OK = "{h} BETWEEN 0 AND 23 AND {m} BETWEEN 0 AND 59 AND {s} >= 0 AND {s} < 60"
_CLOCK = "({h} * 3600000000L + {m} * 60000000L + CAST(rint({s} * 1e6D) AS BIGINT))"


def _clock(hour: int, minute: int, second: float) -> int:
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second < 60):
        raise _OUT
    return (hour * 60 + minute) * 60_000_000 + round(second * 1e6)


def _time(hour: int, minute: int, second: float) -> int:
    micros = _clock(hour, minute, second)
    if micros >= DAY_MICROS:
        raise _OUT
    return micros


def _moment(year: int, month: int, day: int, hour: int, minute: int, second: float) -> datetime:
    micros = _clock(hour, minute, second)
    try:
        return datetime(year, month, day) + timedelta(microseconds=micros)
    except (ValueError, OverflowError):
        raise _OUT from None


def _print_moment(zone: str) -> Callable[[Operands], str]:
    def spark(o: Operands) -> str:
        year, month, day, hour, minute, second = (x.sql for x in o)
        named = {"h": hour, "m": minute, "s": second}
        text = f"format_string('%04d-%02d-%02d', {year}, {month}, {day})"
        date = f"CASE WHEN {year} BETWEEN 1 AND 9999 THEN try_cast({text} AS TIMESTAMP_NTZ) END"
        # The last microseconds of 9999 must not round into the year 10000.
        value = f"timestampadd(MICROSECOND, {_CLOCK.format(**named)}, {date})"
        fits = f"{_CLOCK_OK.format(**named)} AND NOT ({_CLOCK.format(**named)} >= 86400000000 AND {year} = 9999)"  # noqa: E501
        return f"CASE WHEN {fits} THEN CAST({value} AS {zone}) END"

    return spark


def _makers() -> list[Function]:
    parts: tuple[Kind, ...] = (_I, _I, _I, _I, _I, _D)
    time = "CASE WHEN {ok} AND {clock} < 86400000000 THEN {clock} END"
    names = {"h": "{0}", "m": "{1}", "s": "{2}"}
    time = time.format(ok=_CLOCK_OK.format(**names), clock=_CLOCK.format(**names))
    return [
        Function("make_time", (_I, _I, _D), TIME, time, _time, error=_RANGE),
        Function(
            "make_timestamp", parts, TIMESTAMP, _print_moment("TIMESTAMP_NTZ"), _moment,
            error=_RANGE,
        ),
        Function(
            "make_timestamptz", parts, TIMESTAMPTZ, _print_moment("TIMESTAMP_LTZ"),
            lambda *a: _moment(*a).replace(tzinfo=UTC), error=_RANGE,
        ),
        *(_interval_maker(count) for count in range(8)),
    ]  # fmt: skip


def _interval_maker(count: int) -> Function:
    """Return `make_interval` with that many of years, months, weeks, days, hours, mins and secs."""

    def python(*given: Any) -> Interval:
        parts: list[Any] = [*given, *[0] * (7 - count)]
        years, months, weeks, days, hours, minutes, seconds = parts
        if not abs(seconds) < 1e12:
            raise _OUT
        micros = (hours * 60 + minutes) * 60_000_000 + round(seconds * 1e6)
        return fit((years * 12 + months, weeks * 7 + days, micros))

    def spark(o: Operands) -> str:
        texts = [x.sql for x in o] + ["0"] * (7 - count)
        years, months, weeks, days, hours, minutes, seconds = (
            f"CAST({t} AS BIGINT)" if i < 6 else t for i, t in enumerate(texts)
        )
        fraction = (
            f"CASE WHEN abs({seconds}) < 1e12D THEN CAST(rint({seconds} * 1e6D) AS BIGINT) END"
        )
        present = " AND ".join(f"{x} IS NOT NULL" for x in o) or "TRUE"
        return print_interval(
            present,
            f"({years} * 12 + {months})",
            f"({weeks} * 7 + {days})",
            f"({hours} * 3600000000 + {minutes} * 60000000 + {fraction})",
        )

    params = (_I,) * min(count, 6) + ((_D,) if count == 7 else ())
    error = _RANGE if count else None
    return Function("make_interval", params, INTERVAL, spark, python, error=error)


def fit(value: Interval) -> Interval:
    """Return an interval whose parts have a place at rest, or refuse it."""
    months, days, micros = value
    if abs(months) >= 1 << 31 or abs(days) >= 1 << 31 or abs(micros) >= 1 << 63:
        raise _OUT
    return value


def _carry(high: int, low: int, size: int) -> tuple[int, int]:
    """Move whole units up and give both parts one sign."""
    whole = int(math.copysign(abs(low) // size, low)) if low else 0
    high, low = high + whole, low - whole * size
    if high > 0 and low < 0:
        return high - 1, low + size
    if high < 0 and low > 0:
        return high + 1, low - size
    return high, low


def _justify_hours(value: Interval) -> Interval:
    days, micros = _carry(value[1], value[2], DAY_MICROS)
    return fit((value[0], days, micros))


def _justify_days(value: Interval) -> Interval:
    months, days = _carry(value[0], value[1], 30)
    return fit((months, days, value[2]))


def _interval_key(value: Interval) -> Interval:
    """Return the one form of all intervals that equal it: a month has 30 days, a day 24 hours."""
    days, micros = _carry(value[0] * 30 + value[1], value[2], DAY_MICROS)
    return fit((0, days, micros))


def _print_carry(high: str, low: str, size: int) -> tuple[str, str]:
    top, rest = f"({high} + {low} DIV {size})", f"({low} % {size})"
    up = f"CASE WHEN {top} > 0 AND {rest} < 0 THEN -1 WHEN {top} < 0 AND {rest} > 0 THEN 1 ELSE 0 END"  # noqa: E501
    return f"({top} + {up})", f"({rest} - ({up}) * {size})"


def _justifiers() -> list[Function]:
    def hours(o: Operands) -> str:
        days, micros = _print_carry(f"CAST({o[0]}.days AS BIGINT)", f"{o[0]}.micros", DAY_MICROS)
        return print_interval(f"{o[0]} IS NOT NULL", f"{o[0]}.months", days, micros)

    def days(o: Operands) -> str:
        months, left = _print_carry(
            f"CAST({o[0]}.months AS BIGINT)", f"CAST({o[0]}.days AS BIGINT)", 30
        )
        return print_interval(f"{o[0]} IS NOT NULL", months, left, f"{o[0]}.micros")

    def key(o: Operands) -> str:
        whole = f"(CAST({o[0]}.months AS BIGINT) * 30 + {o[0]}.days)"
        days, micros = _print_carry(whole, f"{o[0]}.micros", DAY_MICROS)
        return print_interval(f"{o[0]} IS NOT NULL", "0", days, micros)

    one = (Kind.INTERVAL,)
    return [
        Function("interval_key", one, INTERVAL, key, _interval_key, error=_RANGE),
        Function("justify_hours", one, INTERVAL, hours, _justify_hours, error=_RANGE),
        Function("justify_days", one, INTERVAL, days, _justify_days, error=_RANGE),
    ]


def _time_operators() -> list[Function]:
    time, interval = Kind.TIME, Kind.INTERVAL
    span = lambda o: print_interval(  # noqa: E731
        f"{o[0]} IS NOT NULL AND {o[1]} IS NOT NULL", "0", "0", f"({o[0]} - {o[1]})"
    )
    rest = "pmod({1}.micros, 86400000000)"
    return [
        Function("-", (time, time), INTERVAL, span, lambda a, b: (0, 0, a - b)),
        Function(
            "+", (time, interval), TIME, f"pmod({{0}} + {rest}, 86400000000)",
            lambda t, i: (t + i[2]) % DAY_MICROS,
        ),
        Function(
            "-", (time, interval), TIME, f"pmod({{0}} - {rest}, 86400000000)",
            lambda t, i: (t - i[2]) % DAY_MICROS,
        ),
    ]  # fmt: skip


def calendars() -> list[Function]:
    """Return the family."""
    return [
        *(Function("age", (k, k), INTERVAL, _print_age, age) for k in (_TS, _TZ)),
        *_bins(),
        *_makers(),
        *_justifiers(),
        *_time_operators(),
        *(
            Function("isfinite", (k,), BOOLEAN, "({0} IS NOT NULL OR NULL)", lambda _: True)
            for k in (_TS, _TZ, Kind.DATE, Kind.INTERVAL)
        ),
    ]
