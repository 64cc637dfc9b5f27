"""Settings that the engine reads; SET takes any others and nothing follows from them."""

from __future__ import annotations

from datetime import timedelta

from floodmark.catalog.functions.model import RowError
from floodmark.catalog.interval_text import parse_interval
from floodmark.errors import Span, UserError

RETENTION = timedelta(days=7)
"""How long changes, late rows and old epochs are kept unless `SET retention` says otherwise."""


def retention_of(text: str, span: Span | None = None) -> timedelta:
    """Return the span of time of `SET retention`; one of months, or not above zero, is E0369.

    >>> retention_of("36 hours")
    datetime.timedelta(days=1, seconds=43200)
    """
    try:
        months, days, micros = parse_interval(text)
        span_of_time = timedelta(days=days, microseconds=micros)
    except (RowError, OverflowError):
        months, span_of_time = 1, timedelta()
    if months or span_of_time <= timedelta():
        raise UserError(
            "E0369",
            f"retention = '{text}' is not a span of days, hours or minutes",
            span=span,
            hint="SET retention = '7 days'",
        )
    return span_of_time
