"""Watermarks of a source or table in an epoch: late rows, and how new rows raise them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from floodmark.plan.declaration import Declaration, WatermarkInfo
from floodmark.plan.expr.evaluate import evaluate
from floodmark.storage.logs.epochs import ObjectRecord

CONNECTOR = "0"
"""The partition of a connector: each has one."""
DML = "dml"
SINK = "sink:"
"""What the partition of a sink begins with; its key follows."""
PartitionTimes = Mapping[str, Mapping[str, Any]]
"""By partition and column, the highest time of the rows that came."""


@dataclass(frozen=True)
class Marks:
    """The watermarks of an object: the published ones, and those of each partition.

    A connector's partition holds the watermark back; statements and sinks do not.
    `last_activity` is the time of a partition's last rows, where silent ones stop holding it back.
    """

    declared: Declaration
    now: datetime
    sealed: Mapping[str, Any]
    max_event_times: PartitionTimes
    last_activity: Mapping[str, datetime]

    @classmethod
    def from_record(
        cls, declared: Declaration, before: ObjectRecord | None, now: datetime
    ) -> Marks:
        """Return the watermarks as of the epoch before."""
        if before is None:
            return cls(declared, now, {}, {}, {})
        return cls(declared, now, before.watermarks, before.reached, before.heard)

    def bounds(self, partition: str) -> dict[str, Any]:
        """Return, by column, the value below which a row of a partition is late; no column is left
        out.
        """
        marks = self.declared.watermarks
        bounds = {m.column: _greatest((self.sealed.get(m.column), self._running(partition, m)))
                  for m in marks}  # fmt: skip
        return {column: bound for column, bound in bounds.items() if bound is not None}

    def raise_by(self, highs: PartitionTimes) -> Marks:
        """Return the watermarks after rows of some partitions; `highs` are their highest values.

        A partition whose rows were all put aside is in it with no value.
        """
        reached = {p: dict(values) for p, values in self.max_event_times.items()}
        for partition, values in highs.items():
            mine = reached.setdefault(partition, {})
            for column, value in values.items():
                mine[column] = _greatest((mine.get(column), value))
        after = replace(
            self,
            max_event_times=reached,
            last_activity={**self.last_activity, **dict.fromkeys(highs, self.now)},
        )
        return after._raise_to({m.column: after._hold_back(m, after._holding) for m in self._marks})

    def close_epoch(self, exhausted: bool) -> Marks:
        """Return the watermarks at the end of an epoch; `exhausted` tells that it took all rows.

        Only then silent partitions stop holding them back, and the clock raises them.
        """
        first = {p: self.now for p in self._holding if p not in self.last_activity}
        after = replace(self, last_activity={**first, **self.last_activity})
        if not exhausted:
            return after
        options = self.declared.clock
        idle = options.idle_after
        awake = [
            p for p in after._holding if idle is None or self.now - after.last_activity[p] < idle
        ]
        values = {}
        for mark in self._marks:
            high = _greatest(r.get(mark.column) for r in after.max_event_times.values())
            terms = options.clock_values(mark.column, mark.expr.type, high, self.now)
            values[mark.column] = _greatest((after._hold_back(mark, awake), *terms))
        return after._raise_to(values)

    @property
    def visible(self) -> dict[str, Any]:
        """Return the watermarks as readers see them, also as a transformation calls the columns."""
        called = self.declared.watermark_names
        return {**self.sealed, **{called[c]: v for c, v in self.sealed.items() if c in called}}

    @property
    def record_fields(self) -> dict[str, Any]:
        """Return the fields that an epoch's record needs beside the published watermarks."""
        alone = set(self.max_event_times) <= {CONNECTOR} and not self.declared.clock.acts
        heard = {} if self.declared.clock.idle_after is None else self.last_activity
        return {"reached": {} if alone else self.max_event_times, "heard": heard}

    @property
    def _marks(self) -> tuple[WatermarkInfo, ...]:
        return self.declared.watermarks

    @property
    def _holding(self) -> list[str]:
        """Return the partitions that hold the watermark back."""
        return [] if self.declared.connector is None else [CONNECTOR]

    def _hold_back(self, mark: WatermarkInfo, holding: Iterable[str]) -> Any:
        """Return the least of the partitions that hold it back, else the greatest of all."""
        names = list(holding)
        running = [self._running(p, mark) for p in names or self.max_event_times]
        if not running or (names and None in running):
            return None
        return min(running) if names else _greatest(running)

    def _raise_to(self, values: Mapping[str, Any]) -> Marks:
        """Return the watermarks raised to values, where there are any and they are above."""
        raised = {c: _greatest((self.sealed.get(c), v)) for c, v in values.items()}
        known = {column: value for column, value in raised.items() if value is not None}
        return replace(self, sealed={**self.sealed, **known})

    def _running(self, partition: str, mark: WatermarkInfo) -> Any:
        high = self.max_event_times.get(partition, {}).get(mark.column)
        if high is None:
            return None
        value, _ = evaluate(mark.expr, {mark.column: high}, self.now)
        return value


def _greatest(values: Iterable[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)
