"""Calendar arithmetic on Python values, as PostgreSQL does it."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, time, timedelta

from floodmark.scalar.functions.model import RowError, RowErrorCode

Interval = tuple[int, int, int]
"""Months, days, microseconds."""
DAY_MICROS = 86_400_000_000
EPOCH = datetime(1970, 1, 1)


def micros_of(value: datetime | date) -> int:
    """Return microseconds since 1970, UTC for aware values."""
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return (value - EPOCH) // timedelta(microseconds=1)


FIRST, LAST = micros_of(datetime.min), micros_of(datetime.max)
"""The first and the last time of the years 1 to 9999, in microseconds since 1970."""


def datetime_of(micros: int, *, zoned: bool = False) -> datetime:
    """Return the timestamp that many microseconds after 1970; refuses years outside 1 … 9999."""
    try:
        value = EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE) from None
    return value.replace(tzinfo=UTC) if zoned else value


def add_interval(value: datetime, interval: Interval, sign: int = 1) -> datetime:
    """Add months (clamped to the month's end), then days, then microseconds.

    >>> add_interval(datetime(2024, 1, 31), (1, 0, 0))
    datetime.datetime(2024, 2, 29, 0, 0)
    """
    months, days, micros = (sign * part for part in interval)
    try:
        moved = _add_months(value, months) if months else value
        return moved + timedelta(days=days, microseconds=micros)
    except (OverflowError, ValueError):
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE) from None


def _add_months(value: datetime, months: int) -> datetime:
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    last = calendar.monthrange(year, month + 1)[1]
    return value.replace(year=year, month=month + 1, day=min(value.day, last))


def length_micros(interval: Interval) -> int:
    """Return an interval without months in microseconds; a day has 24 hours."""
    months, days, micros = interval
    assert not months, "months have no fixed length"
    return days * DAY_MICROS + micros


def difference(later: datetime, earlier: datetime) -> Interval:
    """Return the difference in whole days and the rest, both of one sign."""
    micros = micros_of(later) - micros_of(earlier)
    days = abs(micros) // DAY_MICROS * (1 if micros >= 0 else -1)
    return 0, days, micros - days * DAY_MICROS


def combine(a: Interval, b: Interval, sign: int = 1) -> Interval:
    """Add two intervals part by part."""
    months, days, micros = (x + sign * y for x, y in zip(a, b, strict=True))
    return months, days, micros


def truncate(unit: str, value: datetime) -> datetime:
    """Cut a timestamp to the start of its unit (`hour`, `week`, `month` …)."""
    midnight = value.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "microseconds":
            return value
        case "milliseconds":
            return value.replace(microsecond=value.microsecond // 1000 * 1000)
        case "second":
            return value.replace(microsecond=0)
        case "minute":
            return value.replace(second=0, microsecond=0)
        case "hour":
            return value.replace(minute=0, second=0, microsecond=0)
        case "day":
            return midnight
        case "week":
            return midnight - timedelta(days=midnight.weekday())
        case "month":
            return midnight.replace(day=1)
        case "quarter":
            return midnight.replace(month=(value.month - 1) // 3 * 3 + 1, day=1)
        case _:
            assert unit == "year", unit
            return midnight.replace(month=1, day=1)
