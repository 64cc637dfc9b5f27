"""Watermarks that go by the clock: silent partitions, and terms that time alone raises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from floodmark.plan.declared import ClockOptions
from floodmark.reference.rows import sort_value
from floodmark.reference.watermarks import Watermark, WatermarkState


def heard(
    state: WatermarkState, known: Iterable[str], came: Iterable[str], now: datetime
) -> WatermarkState:
    """Return the state of an epoch in which rows of some partitions `came`.

    One that is `known` and has none yet is silent from its first epoch on.
    """
    first = {partition: now for partition in known if partition not in state.heard}
    return replace(state, heard={**state.heard, **first, **dict.fromkeys(came, now)})


def awake(
    state: WatermarkState, holding: Sequence[str], options: ClockOptions, now: datetime
) -> list[str]:
    """Return which partitions still hold the watermark back at the end of an epoch."""
    if options.idle_after is None:
        return list(holding)
    return [p for p in holding if now - state.heard[p] < options.idle_after]


def advanced(
    state: WatermarkState, marks: Iterable[Watermark], options: ClockOptions, now: datetime
) -> WatermarkState:
    """Return the state at the end of an epoch that took in all there was."""
    sealed = dict(state.sealed)
    for mark in marks:
        highest = state.highest.get(mark.column)
        values = options.advanced(mark.column, mark.delayed.type, highest, now)
        known = [v for v in (sealed.get(mark.column), *values) if v is not None]
        if known:
            sealed[mark.column] = max(known, key=sort_value)
    return replace(state, sealed=sealed)
