"""Watermarks of sources and tables: which rows are late, and what rows make of a watermark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.reference.rows import Row, sort_value

WatermarkValues = Mapping[str, Any]
"""Watermark value by column; absent: minus infinity."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """One `WATERMARK FOR column AS delayed`."""

    column: str
    delayed: Expr


@dataclass(frozen=True, slots=True)
class WatermarkState:
    """The running watermarks of one object: by partition, and as of the last sealed epoch.

    `highest` are the highest times that came, `last_activity` when a partition had its last rows.
    """

    running: Mapping[str, WatermarkValues] = field(default_factory=dict)
    sealed: WatermarkValues = field(default_factory=dict)
    highest: WatermarkValues = field(default_factory=dict)
    last_activity: Mapping[str, datetime] = field(default_factory=dict)

    def is_late(self, partition: str, column: str, value: Any) -> bool:
        """Tell whether a value is strictly below its partition's or the object's watermark."""
        bounds = (self.running.get(partition, {}).get(column), self.sealed.get(column))
        return any(b is not None and sort_value(value) < sort_value(b) for b in bounds)

    def raise_to(self, partition: str, column: str, bound: Any) -> WatermarkState:
        """Return the state after a row whose delayed value is `bound`; never goes back."""
        mine = self.running.get(partition, {})
        if bound is None or not _exceeds(bound, mine.get(column)):
            return self
        return replace(self, running={**self.running, partition: {**mine, column: bound}})

    def note_time(self, column: str, value: Any) -> WatermarkState:
        """Return the state after a row with a time that is no dead letter."""
        if not _exceeds(value, self.highest.get(column)):
            return self
        return replace(self, highest={**self.highest, column: value})

    def seal(self, holding: Iterable[str], columns: Iterable[str]) -> WatermarkState:
        """Return the state at the end of an epoch.

        The object's watermark is the minimum over the `holding` partitions. It does not move while
        one of them has none yet. Without a holding partition it is the maximum over all partitions.
        """
        names = list(holding)
        sealed = dict(self.sealed)
        for column in columns:
            choose = min if names else max
            bounds = [self.running.get(p, {}).get(column) for p in names or self.running]
            if not bounds or None in bounds:
                continue
            bound = choose(bounds, key=sort_value)
            if _exceeds(bound, sealed.get(column)):
                sealed[column] = bound
        return replace(self, sealed=sealed)


def late_column(
    watermarks: Iterable[Watermark], state: WatermarkState, partition: str, row: Row
) -> str | None:
    """Return the first watermark column in which the row is late, or None."""
    for mark in watermarks:
        if state.is_late(partition, mark.column, row[mark.column]):
            return mark.column
    return None


def raise_by(
    watermarks: Iterable[Watermark],
    state: WatermarkState,
    partition: str,
    row: Row,
    now: datetime,
) -> WatermarkState:
    """Return the state after a row, late or not."""
    for mark in watermarks:
        bound, error = evaluate(mark.delayed, row, now)
        state = state if error is not None else state.raise_to(partition, mark.column, bound)
        state = state.note_time(mark.column, row[mark.column])
    return state


def _exceeds(bound: Any, other: Any) -> bool:
    return other is None or sort_value(other) < sort_value(bound)
