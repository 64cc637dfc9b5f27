"""Objects that change because time has passed, though no input does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from floodmark.dataflow.state.due_changes import first_of, last_of
from floodmark.scalar.functions.intervals import FIRST, datetime_of, micros_of
from floodmark.scalar.types import BIGINT, Field
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.dependencies import blocked_keys, upstream_of
from floodmark.stream.properties.state import DUE_AT
from floodmark.tables import layout
from floodmark.tables.current import current_rows
from floodmark.tables.cutoff import cutoff_of
from floodmark.tables.expiry import due_times
from floodmark.tables.validity_period import times
from floodmark.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import numpy as np


def due_timers(warehouse: Warehouse, until: datetime, select: Collection[str] | None) -> set[str]:
    """Return the objects that change by a time; with `select` those that the selected ones need.

    Suspended and backfilling objects are left out, and so are objects that need one.
    """
    records = warehouse.cut().records
    names = {k for k, r in records.items() if r.due is not None and r.due <= until}
    if not names:
        return names
    pipeline = warehouse.deployed().pipeline
    outside = (k for k, r in records.items() if r.backfilling)
    held = blocked_keys({*warehouse.suspensions(), *outside}, pipeline)
    needed = pipeline.objects.keys() if select is None else upstream_of(select, pipeline)
    return (names & needed) - held


def timer_batch(warehouse: Warehouse, objects: Collection[str], until: datetime) -> datetime | None:
    """Return an earlier time for the next epoch if too many rows are due for one; else None."""
    moments = [_batch_of_changes(warehouse, objects, until)]
    moments += [_batch_of_rows(warehouse, key, until) for key in objects]
    moments += [_batch_of_ends(warehouse, key, until) for key in objects]
    return min((moment for moment in moments if moment is not None), default=None)


def _batch_of_rows(warehouse: Warehouse, key: str, until: datetime) -> datetime | None:
    """Return the last time before which no more rows of a source come and go than in one epoch."""
    obj, record = warehouse.deployed().pipeline[key], warehouse.cut().records[key]
    rows = current_rows(warehouse.store, obj, record) if obj.period else None
    if rows is None or record.as_of is None:
        return None
    first, last = micros_of(record.as_of) + 1, micros_of(until)
    moments = times(warehouse.store, rows.parts, obj.period, first, last)
    return _end_of_batch(moments, warehouse.settings.max_due_rows)


def _batch_of_ends(warehouse: Warehouse, key: str, until: datetime) -> datetime | None:
    """Return the last time before which no more rows of a table end by TTL than in one epoch."""
    obj, record = warehouse.deployed().pipeline[key], warehouse.cut().records[key]
    if obj.declared is None or obj.declared.ttl is None or not obj.declared.ttl.deletes:
        return None
    time_of, epoch = warehouse.log.time_of, warehouse.cut().epoch + 1
    cutoff = cutoff_of(obj, until, record, epoch, time_of)
    assert cutoff is not None
    ends, rows = due_times(warehouse.store, obj, record, cutoff, time_of), 0
    for moment, count in ends:
        rows += count
        if rows > warehouse.settings.max_due_rows and moment > ends[0][0]:
            return moment - timedelta(microseconds=1)
    return None


def _batch_of_changes(
    warehouse: Warehouse, objects: Collection[str], until: datetime
) -> datetime | None:
    """Return the last time before which no more changes to come are made than in one epoch.

    Rows are clustered by their time: of a long backlog, the first files alone are read.
    """
    last, most = micros_of(until), warehouse.settings.max_due_rows
    parts = list(_due_parts(warehouse, objects, last))
    files = sorted((file for _, files in parts for file in files), key=first_of)
    before = [0, *accumulate(file.rows for file in files)]
    if before[-1] <= most:
        return None
    needed = [file for file, rows in zip(files, before, strict=False) if rows <= most]
    last = min(last, max(last_of(file) for file in needed))
    return _end_of_batch(times(warehouse.store, parts, (Field(DUE_AT, BIGINT),), FIRST, last), most)


def _end_of_batch(moments: np.ndarray, most: int) -> datetime | None:
    """Return the last time before which at most so many moments are; equal ones stay together."""
    if moments.size <= most:
        return None
    return datetime_of(max(int(moments[most]) - 1, int(moments[0])), zoned=True)


def _due_parts(
    warehouse: Warehouse, objects: Collection[str], until: int
) -> Iterator[tuple[Handle, list[DataFile]]]:
    """Yield the files of each state table that have something that is due by a time."""
    pipeline, cut = warehouse.deployed().pipeline, warehouse.cut()
    for key in objects:
        owners = (pipeline[key], *(pipeline[feeder] for feeder in pipeline[key].feeders))
        plans = ((owner, owner.plan) for owner in owners if owner.plan is not None)
        for owner, plan in plans:
            states = (s for op in plan.operators.values() for s in op.state)
            for state in (s for s in states if s.holds_due_changes):
                table = layout.state_table(owner, state.name)
                version = cut.version(key, table)
                if version is not None:
                    handle = warehouse.store.open(table, version)
                    yield handle, [file for file in handle.files if first_of(file) <= until]
