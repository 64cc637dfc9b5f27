"""Windows of time: which of them hold a date or timestamp; they are cut where the years end.

The reference puts rows into them. The engine has Spark do that, which is compared with it, and asks
here for the bounds of values alone.
"""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from typing import Any

from floodmark.scalar.functions.intervals import (
    DAY_MICROS,
    FIRST,
    LAST,
    Interval,
    datetime_of,
    length_micros,
    micros_of,
)


def shift(value: Any, interval: Interval, sign: int = 1) -> Any:
    """Return a date, timestamp or number of microseconds moved by an interval.

    Months come first and stop at the end of the month, as in PostgreSQL.

    >>> shift(datetime(2024, 1, 31), (1, 0, 0))
    datetime.datetime(2024, 2, 29, 0, 0)
    """
    months, days, micros = (sign * part for part in interval)
    if isinstance(value, int):
        return value + days * DAY_MICROS + micros
    if months:
        value = _add_months(value, months)
    return value + timedelta(days=days, microseconds=micros)


def align(value: Any, size: Interval, offset: Interval) -> Any:
    """Return the start of the window of `size` that holds a date or timestamp.

    Windows are counted from 1970-01-01, moved by `offset`.

    >>> align(datetime(2024, 1, 1, 10, 7), (0, 0, 300_000_000), (0, 0, 0))
    datetime.datetime(2024, 1, 1, 10, 5)
    """
    since, width = micros_of(value), length_micros(size)
    return _clamp(since - (since - length_micros(offset)) % width, value)


def windows_of(
    value: Any, slide: Interval, size: Interval, offset: Interval
) -> list[tuple[Any, Any]]:
    """Return start and end of the windows that hold a date or timestamp, the earliest first.

    Of the windows that begin before year 1 only the last one exists, and of those that end after
    year 9999 only the first one. Both are cut there.

    >>> windows_of(datetime(9999, 12, 31), (0, 1, 0), (0, 3, 0), (0, 0, 0))[0][1]
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
    """
    since, step, width = micros_of(value), length_micros(slide), length_micros(size)
    last = since - (since - length_micros(offset)) % step
    starts = range(last, since - width, -step)
    return [
        (_clamp(start, value), _clamp(start + width, value))
        for start in reversed(starts)
        if start + step > FIRST and start + width - step <= LAST
    ]


def shift_and_clamp(value: Any, interval: Interval, sign: int = 1) -> Any:
    """Return a time moved by an interval; where time ends, its end: no value is beyond."""
    try:
        return shift(value, interval, sign)
    except OverflowError:
        ahead = any(sign * part > 0 for part in interval)
        return _clamp(LAST if ahead else FIRST, value)


def _clamp(micros: int, like: Any) -> Any:
    """Return the time of the years that is nearest to microseconds since 1970."""
    if not isinstance(like, datetime):
        return datetime_of(min(max(micros, FIRST), LAST)).date()
    return datetime_of(min(max(micros, FIRST), LAST), zoned=like.tzinfo is not None)


def _add_months(value: Any, months: int) -> Any:
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    day = min(value.day, calendar.monthrange(year, month + 1)[1])
    return value.replace(year=year, month=month + 1, day=day)
