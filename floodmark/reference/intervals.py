"""Arithmetic of timestamps, dates and intervals."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta
from typing import Any

from floodmark.plan.nodes import Interval


def shift(value: Any, interval: Interval, sign: int = 1) -> Any:
    """Return a date, timestamp or number of microseconds moved by an interval.

    Months come first and stop at the end of the month, as in PostgreSQL.

    >>> shift(datetime(2024, 1, 31), (1, 0, 0))
    datetime.datetime(2024, 2, 29, 0, 0)
    """
    months, days, micros = (sign * part for part in interval)
    if isinstance(value, int):
        return value + days * 86_400_000_000 + micros
    if months:
        value = _add_months(value, months)
    return value + timedelta(days=days, microseconds=micros)


def align(value: Any, size: Interval, offset: Interval) -> Any:
    """Return the start of the window of `size` that holds a date or timestamp.

    Windows are counted from 1970-01-01, moved by `offset`.

    >>> align(datetime(2024, 1, 1, 10, 7), (0, 0, 300_000_000), (0, 0, 0))
    datetime.datetime(2024, 1, 1, 10, 5)
    """
    assert not size[0] and not offset[0], "windows of months have no fixed size"
    width = length(size)
    return value - (value - _origin(value) - length(offset)) % width


def length(interval: Interval) -> timedelta:
    """Return an interval without months as a duration; a day has 24 hours."""
    assert not interval[0], "an interval of months has no fixed length"
    return timedelta(days=interval[1], microseconds=interval[2])


def _origin(value: Any) -> Any:
    if isinstance(value, datetime):
        return datetime(1970, 1, 1, tzinfo=UTC if value.tzinfo else None)
    assert isinstance(value, date)
    return date(1970, 1, 1)


def _add_months(value: Any, months: int) -> Any:
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    day = min(value.day, calendar.monthrange(year, month + 1)[1])
    return value.replace(year=year, month=month + 1, day=day)
