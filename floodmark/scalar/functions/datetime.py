"""Operators and functions on dates, times, timestamps and intervals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from floodmark.errors import BindError
from floodmark.scalar.functions import intervals as cal
from floodmark.scalar.functions.extract import extract
from floodmark.scalar.functions.model import (
    ErrorForm,
    Function,
    Operand,
    Operands,
    RowError,
    RowErrorCode,
    null_means,
)
from floodmark.scalar.functions.years import limit_to_years, null_outside_years
from floodmark.scalar.types import DATE, INT, INTERVAL, TIMESTAMP, TIMESTAMPTZ, Kind

_TS, _TZ, _DATE, _INTERVAL = Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE, Kind.INTERVAL
_RANGE = null_means(RowErrorCode.TIME_OUT_OF_RANGE)
TRUNCATIONS = (
    "microseconds",
    "milliseconds",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
)
_SAFE_YEARS = 100_000
_SAFE_DAYS = 40_000_000
INTERVAL_STRUCT = "STRUCT<months: INT, days: INT, micros: BIGINT>"
"""The parts may be NULL for Arrow's sake: a NULL interval has no parts."""


def _constant_steps(interval: cal.Interval, sign: int) -> list[str]:
    months, days, micros = (sign * part for part in interval)
    steps = []
    if months:
        steps.append(f"INTERVAL '{months}' MONTH")
    total = days * cal.DAY_MICROS + micros
    if total:
        size = abs(total)
        whole, rest = divmod(size, cal.DAY_MICROS)
        seconds, fraction = divmod(rest, 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
        steps.append(f"INTERVAL '{'-' if total < 0 else ''}{whole} {clock}' DAY TO SECOND")
    return steps


def print_shift(value: str, interval: Operand, sign: int) -> str:
    """Return the Spark text of a timestamp moved by an interval: months first, then the rest."""
    if interval.constant is None:
        return f"(CASE WHEN FALSE THEN {value} END)"
    if interval.is_constant:
        steps = _constant_steps(interval.constant, sign)
        return f"({' + '.join([value, *steps])})" if steps else value
    word = "try_add" if sign > 0 else "try_subtract"
    moved = f"{word}({value}, make_ym_interval(0, {interval}.months))"
    moved = f"{word}({moved}, make_dt_interval({interval}.days))"
    # Seconds take a DECIMAL(18,6): twelve digits of whole seconds, 31 thousand years.
    seconds = f"try_cast({interval}.micros / 1000000BD AS DECIMAL(18,6))"
    return f"{word}({moved}, make_dt_interval(0, 0, 0, {seconds}))"


def is_near(interval: Operand) -> bool:
    """Tell whether it is a constant that Spark can add to any time.

    Such a sum may lie outside of the years where it is compared only: bounds of filters are sums.
    """
    given = interval.constant
    if isinstance(given, int):
        return abs(given) <= _SAFE_DAYS
    return given is None or (
        isinstance(given, tuple)
        and abs(given[0]) < _SAFE_YEARS * 12
        and abs(given[1]) < _SAFE_YEARS * 365
        and abs(given[2]) < 10**17
    )


def _shift_error(index: int) -> ErrorForm:
    def form(o: Operands, value: str) -> str | None:
        return None if is_near(o[index]) else _RANGE(o, value)

    return form


def _shift(sign: int, kind: Kind, *, swapped: bool = False) -> Function:
    value_at, interval_at = (1, 0) if swapped else (0, 1)
    result = TIMESTAMPTZ if kind is _TZ else TIMESTAMP

    def spark(o: Operands) -> str:
        value = o[value_at].sql
        if kind is _DATE:
            value = f"CAST({value} AS TIMESTAMP_NTZ)"
        moved = print_shift(value, o[interval_at], sign)
        return moved if is_near(o[interval_at]) else null_outside_years(moved, result)

    def python(*args: Any) -> datetime:
        value, interval = args[value_at], args[interval_at]
        if not isinstance(value, datetime):
            value = datetime.combine(value, time())
        return cal.add_interval(value, interval, sign)

    params = (_INTERVAL, kind) if swapped else (kind, _INTERVAL)
    order = value_at
    return Function(
        "+" if sign > 0 else "-",
        params,
        result,
        spark,
        python,
        monotone=order,
        error=_shift_error(interval_at),
    )


def _micros_between(later: str, earlier: str) -> str:
    return f"timestampdiff(MICROSECOND, {earlier}, {later})"


def _difference(o: Operands) -> str:
    micros = _micros_between(o[0].sql, o[1].sql)
    day = cal.DAY_MICROS
    days = f"{micros} DIV {day}"
    return print_interval(f"{micros} IS NOT NULL", "0", days, f"{micros} % {day}")


def _parts(o: Operand) -> tuple[str, str, str]:
    return f"{o}.months", f"{o}.days", f"{o}.micros"


def print_interval(present: str, months: str, days: str, micros: str) -> str:
    """Return the Spark text of an interval made of its parts; NULL when one of them is."""
    parts = [
        f"try_cast({months} AS INT)",
        f"try_cast({days} AS INT)",
        f"try_cast({micros} AS BIGINT)",
    ]
    whole = " AND ".join([present, *(f"{p} IS NOT NULL" for p in parts)])
    struct = f"named_struct('months', {parts[0]}, 'days', {parts[1]}, 'micros', {parts[2]})"
    return f"CASE WHEN {whole} THEN CAST({struct} AS {INTERVAL_STRUCT}) END"


def print_interval_sum(symbol: str) -> Callable[[Operands], str]:
    """Return the Spark form of `+` or `-` of two intervals; NULL out of range."""

    def spark(o: Operands) -> str:
        word = "try_add" if symbol == "+" else "try_subtract"
        pairs = zip(_parts(o[0]), _parts(o[1]), strict=True)
        months, days, micros = (f"{word}({a}, {b})" for a, b in pairs)
        return print_interval(f"{o[0]} IS NOT NULL AND {o[1]} IS NOT NULL", months, days, micros)

    return spark


def fit_interval(value: cal.Interval) -> cal.Interval:
    """Return an interval, or raise `RowError` where a part is out of range."""
    months, days, micros = value
    if abs(months) >= 1 << 31 or abs(days) >= 1 << 31 or abs(micros) >= 1 << 63:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE)
    return value


def _interval_operators() -> list[Function]:
    pair = (_INTERVAL, _INTERVAL)

    def times(o: Operands, value: int, number: int) -> str:
        months, days, micros = (
            f"try_multiply({p}, CAST({o[number]} AS BIGINT))" for p in _parts(o[value])
        )
        return print_interval(f"{o[0]} IS NOT NULL AND {o[1]} IS NOT NULL", months, days, micros)

    def scale(i: cal.Interval, n: int) -> cal.Interval:
        return fit_interval((i[0] * n, i[1] * n, i[2] * n))

    return [
        Function(
            "+",
            pair,
            INTERVAL,
            print_interval_sum("+"),
            lambda a, b: fit_interval(cal.combine(a, b)),
            error=_RANGE,
        ),
        Function(
            "-",
            pair,
            INTERVAL,
            print_interval_sum("-"),
            lambda a, b: fit_interval(cal.combine(a, b, -1)),
            error=_RANGE,
        ),
        Function(
            "neg",
            pair[:1],
            INTERVAL,
            lambda o: print_interval(
                f"{o[0]} IS NOT NULL", *(f"try_subtract(0, {p})" for p in _parts(o[0]))
            ),
            lambda a: fit_interval(cal.combine((0, 0, 0), a, -1)),
            error=_RANGE,
        ),
        Function(
            "*", (_INTERVAL, Kind.BIGINT), INTERVAL, lambda o: times(o, 0, 1), scale, error=_RANGE
        ),
        Function(
            "*",
            (Kind.BIGINT, _INTERVAL),
            INTERVAL,
            lambda o: times(o, 1, 0),
            lambda n, i: scale(i, n),
            error=_RANGE,
        ),
    ]


def _days(value: date, count: int) -> date:
    try:
        return value + timedelta(days=count)
    except OverflowError:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE) from None


def _date_operators() -> list[Function]:
    safe_date = (
        f"CASE WHEN {{1}} BETWEEN -{_SAFE_DAYS} AND {_SAFE_DAYS} THEN date_%s({{0}}, {{1}}) END"
    )

    def shift_operator(symbol: str, word: str, python: Callable[[date, int], date]) -> Function:
        def spark(o: Operands) -> str:
            text = (safe_date % word).format(*o)
            return text if is_near(o[1]) else null_outside_years(text, DATE)

        return Function(
            symbol, (_DATE, Kind.INT), DATE, spark, python, monotone=0, error=_shift_error(1)
        )

    return [
        shift_operator("+", "add", _days),
        shift_operator("-", "sub", lambda d, n: _days(d, -n)),
        Function(
            "-", (_DATE, _DATE), INT, "datediff({0}, {1})", lambda a, b: (a - b).days, monotone=0
        ),
        *(Function("-", (k, k), INTERVAL, _difference, cal.difference) for k in (_TS, _TZ)),
        Function(
            "+",
            (_DATE, Kind.TIME),
            TIMESTAMP,
            "timestampadd(MICROSECOND, {1}, CAST({0} AS TIMESTAMP_NTZ))",
            lambda d, t: datetime.combine(d, time()) + timedelta(microseconds=t),
        ),
    ]


def unit_of(operand: Operand, allowed: tuple[str, ...]) -> str:
    """Return the singular, lower-case name of a time unit given as text."""
    text = str(operand.constant).strip().lower()
    for unit in allowed:
        if text in (unit, unit + "s", unit.rstrip("s")):
            return unit
    raise BindError(
        "E0250",
        f"{operand.constant!r} is not a time unit here",
        hint=f"one of: {', '.join(allowed)}",
    )


def _truncation(kind: Kind) -> Function:
    result = TIMESTAMPTZ if kind is _TZ else TIMESTAMP
    name = "TIMESTAMP_LTZ" if kind is _TZ else "TIMESTAMP_NTZ"
    words = {"microseconds": "MICROSECOND", "milliseconds": "MILLISECOND"}

    def spark(o: Operands) -> str:
        unit = unit_of(o[0], TRUNCATIONS)
        return f"CAST(date_trunc('{words.get(unit, unit.upper())}', {o[1]}) AS {name})"

    def python(unit: str, value: datetime) -> datetime:
        return cal.truncate(unit_of(Operand("", result, unit), TRUNCATIONS), value)

    return Function(
        "date_trunc",
        (Kind.VARCHAR, kind),
        result,
        spark,
        python,
        constant=frozenset({0}),
        monotone=1,
    )


def _make_date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE) from None


_TO_2000 = 946_684_800
"""Seconds from 1970 to 2000, from where PostgreSQL counts, and rounds."""


def _from_seconds(seconds: float) -> datetime:
    if not abs(seconds) < 1e12:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE)
    return cal.datetime_of(round((seconds - _TO_2000) * 1e6) + _TO_2000 * 1_000_000, zoned=True)


def _swap_utc(value: datetime, zone: str) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.replace(tzinfo=None)


def _zone(target: str) -> Callable[[Operands], str]:
    def spark(o: Operands) -> str:
        return f"CAST({o[0]} AS {target})"

    return spark


def datetimes() -> list[Function]:
    """Return the date and time family; session time is UTC throughout."""
    keep = 0
    make = "CASE WHEN {0} BETWEEN 1 AND 9999 THEN try_cast(format_string('%04d-%02d-%02d', {0}, {1}, {2}) AS DATE) END"  # noqa: E501
    micros = f"CAST(rint(({{0}} - {_TO_2000}D) * 1e6D) AS BIGINT) + {_TO_2000}000000L"
    seconds = f"CASE WHEN abs({{0}}) < 1e12D THEN timestamp_micros({micros}) END"
    return [
        *_date_operators(),
        *(_shift(sign, kind) for kind in (_TS, _TZ, _DATE) for sign in (1, -1)),
        *(_shift(1, kind, swapped=True) for kind in (_TS, _TZ, _DATE)),
        *_interval_operators(),
        _truncation(_TS),
        _truncation(_TZ),
        *extract(),
        Function("make_date", (Kind.INT,) * 3, DATE, make, _make_date, error=_RANGE),
        limit_to_years(
            Function(
                "to_timestamp",
                (Kind.DOUBLE,),
                TIMESTAMPTZ,
                seconds,
                _from_seconds,
                error=_RANGE,
                monotone=keep,
                version=2,
            )
        ),
        Function(
            "timezone",
            (_TS, Kind.VARCHAR),
            TIMESTAMPTZ,
            _zone("TIMESTAMP_LTZ"),
            _swap_utc,
            constant=frozenset({1}),
            monotone=keep,
        ),
        Function(
            "timezone",
            (_TZ, Kind.VARCHAR),
            TIMESTAMP,
            _zone("TIMESTAMP_NTZ"),
            _swap_utc,
            constant=frozenset({1}),
            monotone=keep,
        ),
    ]
