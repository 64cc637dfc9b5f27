"""What is final of a view that emits on window close: how far its watermark is, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

from floodmark.catalog.objects import ObjectKind
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.closing import closing_column
from floodmark.tables import layout
from floodmark.tables.cut import Cut


def closing(pipeline: Pipeline) -> tuple[AnalysedObject, ...]:
    """Return the materialized views that emit on window close, by a time."""
    return tuple(obj for obj in pipeline.objects.values() if closes_in_time(obj))


def closes_in_time(obj: AnalysedObject) -> bool:
    """Tell whether an object is a view whose rows a watermark of dates or times releases."""
    on_close = obj.kind is ObjectKind.MATERIALIZED_VIEW and obj.emits_on_close
    return on_close and closing_column(obj.plan) is not None


def final_bound(obj: AnalysedObject, record: ObjectRecord | None) -> datetime | None:
    """Return the time below which a view's rows are final, aware; None where nothing is yet."""
    column = closing_column(obj.plan)
    if column is None or record is None or record.backfilling:
        return None
    value = record.watermarks.get(column.name)
    return None if value is None else as_time(value)


def first_closed_time(store: Store, views: Iterable[AnalysedObject], cut: Cut) -> datetime | None:
    """Return the earliest time of the rows of views, from statistics of their files; no Spark."""
    found = [time for view in views for time in _lowest(store, view, cut)]
    return min(found, default=None)


def last_closed_time(views: Iterable[AnalysedObject], cut: Cut) -> datetime | None:
    """Return the furthest time below which the rows of a view are final."""
    marks = [final_bound(view, cut.records.get(view.key)) for view in views]
    return max((mark for mark in marks if mark is not None), default=None)


def _lowest(store: Store, view: AnalysedObject, cut: Cut) -> list[datetime]:
    column, table = closing_column(view.plan), layout.current_table(view)
    version = cut.version(view.key, table)
    if column is None or version is None:
        return []
    files = store.open(table, version).files
    return [as_time(f.low[column.name]) for f in files if column.name in f.low]


def as_time(value: date | datetime) -> datetime:
    """Return a date, or a time without a zone, as a time in UTC.

    >>> as_time(date(2013, 1, 2)).isoformat()
    '2013-01-02T00:00:00+00:00'
    """
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
