"""Watermarks that go by the clock: silent partitions, and terms that time alone raises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from floodmark.plan.declaration import ClockOptions, Term
from floodmark.reference.rows import sort_value
from floodmark.reference.watermarks import Watermark, WatermarkState
from floodmark.scalar.casts import cast_value
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.types import TIMESTAMPTZ, Kind

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)


def note_activity(
    state: WatermarkState, known: Iterable[str], came: Iterable[str], now: datetime
) -> WatermarkState:
    """Return the state of an epoch in which rows of some partitions `came`.

    One that is `known` and has none yet is silent from its first epoch on.
    """
    first = {partition: now for partition in known if partition not in state.last_activity}
    return replace(
        state, last_activity={**state.last_activity, **first, **dict.fromkeys(came, now)}
    )


def awake_partitions(
    state: WatermarkState, holding: Sequence[str], options: ClockOptions, now: datetime
) -> list[str]:
    """Return which partitions still hold the watermark back at the end of an epoch."""
    if options.idle_after is None:
        return list(holding)
    return [p for p in holding if now - state.last_activity[p] < options.idle_after]


def advance(
    state: WatermarkState, marks: Iterable[Watermark], options: ClockOptions, now: datetime
) -> WatermarkState:
    """Return the state at the end of an epoch that took in all there was."""
    sealed = dict(state.sealed)
    for mark in marks:
        highest = state.highest.get(mark.column)
        values = [_term(term, mark, highest, now) for term in options.advance]
        known = [v for v in (sealed.get(mark.column), *values) if v is not None]
        if known:
            sealed[mark.column] = max(known, key=sort_value)
    return replace(state, sealed=sealed)


def _term(term: Term, mark: Watermark, highest: Any, now: datetime) -> Any:
    """Return the value of a term for a column of time, None where it says nothing of it."""
    type_ = mark.delayed.type
    if type_.kind not in _TIMES or term.column not in (None, mark.column):
        return None
    moment = now if term.column is None else cast_value(highest, type_, TIMESTAMPTZ)
    try:
        return None if moment is None else cast_value(moment - term.delay, TIMESTAMPTZ, type_)
    except OverflowError:
        return None


def is_ahead(mark: Watermark, value: Any, options: ClockOptions, now: datetime) -> bool:
    """Tell whether a time is further ahead of the epoch's than is allowed."""
    if options.max_ahead is None or mark.delayed.type.kind not in _TIMES:
        return False
    return micros_of(value) > micros_of(now) + options.max_ahead // timedelta(microseconds=1)
