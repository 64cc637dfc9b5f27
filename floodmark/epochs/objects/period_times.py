"""What time alone does to a source whose rows are seen during a period: which, and when next."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.scalar.functions.intervals import datetime_of, micros_of
from floodmark.scalar.functions.model import RowError
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.tables.current import current_at, current_rows
from floodmark.tables.validity_period import next_time, times


def set_period_times(task: ObjectAdvance, record: ObjectRecord) -> ObjectRecord:
    """Return the record of a source with the time at which it is seen, and the next that matters.

    Rows that have come or gone by themselves since the epoch before count as changes. Reads no more
    than bounds, and those without Spark.
    """
    if not task.obj.period:
        return record
    before, store, now = task.work.before, task.tables.store, task.work.now
    period = task.obj.period
    rows, then = current_at(store, task.obj, before), before.as_of(task.obj.key)
    moved = 0
    if rows is not None and then is not None:
        moved = times(store, rows.parts, period, micros_of(then) + 1, micros_of(now)).size
    after = current_rows(store, task.obj, record)
    assert after is not None
    first = next_time(store, after.parts, period, now)
    due = None
    if first is not None:
        with suppress(RowError):
            # What is after the last year is never due.
            due = datetime_of(first, zoned=True)
    return replace(record, as_of=now, due=due, timed_rows=moved, rows_out=record.rows_out + moved)
