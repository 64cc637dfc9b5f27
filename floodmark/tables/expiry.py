"""Expiry of rows by a TTL: the time of the next expiry, and the times of expired rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from floodmark.plan.declaration import moment_of
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.storage.plain_files import read_parquet
from floodmark.storage.table import DataFile, Handle, Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.current import current_rows
from floodmark.tables.cutoff import Cutoff, TimeOf


def record_expiry(
    obj: AnalysedObject,
    record: ObjectRecord,
    cutoff: Cutoff | None,
    store: Store,
    time_of: TimeOf,
) -> ObjectRecord:
    """Return the record of a table with its cutoff and the time at which the next row is deleted.

    Reads statistics of files, and one column of those that have rows on both sides of the cutoff.
    """
    if cutoff is None:
        return record
    record = replace(record, cutoff=cutoff.time, cutoff_epoch=cutoff.epoch)
    if not cutoff.ttl.deletes:
        return record
    rows = current_rows(store, obj, record)
    first = min(_firsts(store, () if rows is None else rows.parts, cutoff), default=None)
    return replace(record, due=None if first is None else _expiry_time(first, cutoff, time_of))


def _firsts(
    store: Store, parts: tuple[tuple[Handle, tuple[DataFile, ...]], ...], cutoff: Cutoff
) -> Iterator[Any]:
    """Yield the lowest value of each file at which a row is not over yet."""
    for handle, files in parts:
        unknown = []
        for file in files:
            low = file.low.get(cutoff.column)
            if low is not None and low > cutoff.value:
                yield low
            elif not cutoff.expires_all(file):
                unknown.append(file)
        for path in store.paths(handle, unknown):
            first = _next_expiry(path, cutoff)
            if first is not None:
                yield first


def _next_expiry(path: str, cutoff: Cutoff) -> Any:
    from pyarrow import compute as pc

    column = _column(path, cutoff)
    return pc.min(column.filter(pc.greater(column, _scalar(column, cutoff)))).as_py()


def _column(path: str, cutoff: Cutoff) -> Any:
    return read_parquet(path, [cutoff.column]).column(0)


def _scalar(column: Any, cutoff: Cutoff) -> Any:
    import pyarrow as pa

    return pa.scalar(cutoff.value, type=column.type)


def _expiry_time(value: Any, cutoff: Cutoff, time_of: TimeOf) -> datetime | None:
    """Return when rows are over whose column has a value; None after the last year."""
    moment = time_of(value) if cutoff.ttl.column is None else moment_of(value)
    with suppress(OverflowError):
        return moment.astimezone(UTC) + cutoff.ttl.length
    return None


def due_times(
    store: Store, obj: AnalysedObject, record: ObjectRecord, cutoff: Cutoff, time_of: TimeOf
) -> list[tuple[datetime, int]]:
    """Return, in order, the times at which rows expired up to a cutoff, with their numbers."""
    from pyarrow import compute as pc

    rows = current_rows(store, obj, record)
    counts: dict[Any, int] = {}
    for handle, files in () if rows is None else rows.parts:
        for path in store.paths(handle, [file for file in files if cutoff.ends(file)]):
            column = _column(path, cutoff)
            ended = column.filter(pc.less_equal(column, _scalar(column, cutoff)))
            for item in pc.value_counts(ended).to_pylist():
                counts[item["values"]] = counts.get(item["values"], 0) + item["counts"]
    found_times = ((_expiry_time(value, cutoff, time_of), count) for value, count in counts.items())
    return sorted((time, count) for time, count in found_times if time is not None)
