"""Partitions in event time: which spans of a view that emits on window close are final.

Runs advance objects without partitions; what they close is told as materialized partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, islice

import dagster as dg

from floodmark.api import Floodmark
from floodmark.storage.logs.last_reported import LastReport
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.window_finality import (
    closes_in_time,
    closing,
    final_bound,
    first_closed_time,
    last_closed_time,
)
from floodmark_dagster.assets.translator import asset_key
from floodmark_dagster.resources.warehouse import Warehouse

MOST_PARTITIONS = 10_000
"""Partitions that are shown: the newest ones."""
PAST = timedelta(days=30)
"""Data that ends so long ago is history: the partitions end where it does, not today."""
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_CRONS = {"hour": "0 * * * *", "day": "0 0 * * *", "week": "0 0 * * 0", "month": "0 0 1 * *"}


@dataclass(frozen=True)
class Grain:
    """How long the partitions are; times are aware, in UTC."""

    name: str = "day"

    @property
    def format(self) -> str:
        """Return how a partition's key is written, as Dagster does for this length."""
        return "%Y-%m-%d-%H:%M" if self.name == "hour" else "%Y-%m-%d"

    def start(self, time: datetime) -> datetime:
        """Return the start of the partition of a time.

        >>> Grain("week").start(datetime(2013, 1, 2, 3, tzinfo=UTC)).isoformat()
        '2012-12-30T00:00:00+00:00'
        """
        time = time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        if self.name == "hour":
            return time
        day = time.replace(hour=0)
        if self.name == "week":
            return day - timedelta(days=day.isoweekday() % 7)
        return day.replace(day=1) if self.name == "month" else day

    @property
    def length(self) -> timedelta:
        """Return how long the longest partitions are."""
        found = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
        return found.get(self.name, timedelta(days=31))

    def next(self, start: datetime) -> datetime:
        """Return the start of the partition after one."""
        return self.start(start + self.length)

    def first(self, time: datetime, last: datetime) -> datetime:
        """Return the start of the first partition: that of a time, or not too long before `last`.

        One row with a time of long ago would be thousands of partitions.
        """
        oldest = max(last, _EARLIEST) - MOST_PARTITIONS * self.length
        return self.start(max(time, oldest, _EARLIEST))

    def starts_between(self, first: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the starts of the partitions from that of `first` on that end by `end`."""
        start = self.start(first)
        while (after := self.next(start)) <= end:
            yield start
            start = after

    def key(self, start: datetime) -> str:
        """Return the key of a partition."""
        return start.strftime(self.format)


@dataclass(frozen=True)
class EventTime:
    """The partitions that all views of a warehouse share that emit on window close."""

    grain: Grain
    definition: dg.TimeWindowPartitionsDefinition


def event_time(warehouse: Warehouse, grain: Grain) -> EventTime:
    """Return the partitions of a warehouse as its data is when the code location loads; no Spark.

    They begin with the earliest closed time at rest, else today. They end where some view is still
    open: whoever takes all of them takes what is final.
    """
    with warehouse.connect() as floodmark:
        now = floodmark.clock.now()
        return EventTime(grain, _definition(floodmark, grain, now))


def _definition(
    floodmark: Floodmark, grain: Grain, now: datetime
) -> dg.TimeWindowPartitionsDefinition:
    views, cut = closing(floodmark.deployed.pipeline), floodmark.warehouse.cut()
    last = min(last_closed_time(views, cut) or now, now)
    first = min(first_closed_time(floodmark.store, views, cut) or now, now)
    marks = (final_bound(view, cut.records.get(view.key)) for view in views)
    final = grain.start(min((mark for mark in marks if mark is not None), default=last))
    is_past = last < now - PAST
    start = grain.first(first, last)
    return dg.TimeWindowPartitionsDefinition(
        start=start,
        end=max(final, start) if is_past else None,
        # Of what goes on, as many of the newest are open as at this time.
        end_offset=0 if is_past else -len([*grain.starts_between(min(final, now), now)]),
        fmt=grain.format,
        cron_schedule=_CRONS[grain.name],
        timezone="UTC",
    )


def with_partitions(
    spec: dg.AssetSpec, obj: AnalysedObject, event_time: EventTime | None
) -> dg.AssetSpec:
    """Return the asset of an object with partitions, where it emits on window close by a time."""
    if event_time is None or not closes_in_time(obj):
        return spec
    return spec.replace_attributes(partitions_def=event_time.definition)


def newly_final(
    floodmark: Floodmark, grain: Grain, told: dict[str, LastReport], selected: set[dg.AssetKey]
) -> Iterator[dg.AssetMaterialization]:
    """Yield a materialization for each partition that is final and was not told yet.

    At most `partition_events`; `told` is brought up to what was yielded.
    """
    pipeline, cut = floodmark.deployed.pipeline, floodmark.warehouse.cut()
    views, now = closing(pipeline), floodmark.clock.now()
    left = floodmark.warehouse.limits.partition_events
    earliest = first_closed_time(floodmark.store, views, cut)
    for obj in views:
        mark = final_bound(obj, cut.records.get(obj.key))
        last = told.get(obj.key)
        if mark is None or earliest is None or last is None or asset_key(obj) not in selected:
            continue
        mark = min(mark, now)  # Dagster has no partitions of the time to come
        first = grain.first(earliest, mark)
        span = _Span.read(last.final, grain, first)
        before = reversed([*grain.starts_between(first, span.begin)])
        new = list(islice(chain(grain.starts_between(span.end, mark), before), left))
        for start in new:
            span = span.extend(start, grain.next(start))
            yield dg.AssetMaterialization(
                asset_key(obj),
                partition=grain.key(start),
                metadata={"epoch": cut.epoch, "closed_until": dg.MetadataValue.timestamp(mark)},
            )
        left -= len(new)
        told[obj.key] = replace(last, final=span.to_entry(grain))


@dataclass(frozen=True)
class _Span:
    """The partitions that were told, from `begin` to before `end`."""

    begin: datetime
    end: datetime

    @classmethod
    def read(cls, told: Sequence[str], grain: Grain, first: datetime) -> _Span:
        """Return what the book has of this grain, else nothing, before `first`."""
        if len(told) == 3 and told[0] == grain.name:
            return cls(datetime.fromisoformat(told[1]), datetime.fromisoformat(told[2]))
        return cls(first, first)

    def extend(self, begin: datetime, end: datetime) -> _Span:
        """Return the span with one more partition at either end of it."""
        return _Span(min(self.begin, begin), max(self.end, end))

    def to_entry(self, grain: Grain) -> tuple[str, ...]:
        """Return what the book holds."""
        return (grain.name, self.begin.isoformat(), self.end.isoformat())
