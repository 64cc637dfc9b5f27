"""Sources whose rows are visible during a period: the rows that time alone shows or hides."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.scalar.functions.intervals import datetime_of, micros_of
from floodmark.scalar.functions.model import RowError
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.tables.current import current_at_cut, current_rows
from floodmark.tables.validity_period import next_time, times


def set_period_times(advance: ObjectAdvance, record: ObjectRecord) -> ObjectRecord:
    """Return a source's record with the time at which it is read and the next time of a change.

    Rows that came or went with time since the previous epoch count as changes. Reads only file
    bounds, without Spark.
    """
    if not advance.obj.period:
        return record
    before, store, now = advance.input.before, advance.tables.store, advance.input.now
    period = advance.obj.period
    rows, then = current_at_cut(store, advance.obj, before), before.as_of(advance.obj.key)
    moved = 0
    if rows is not None and then is not None:
        moved = times(store, rows.parts, period, micros_of(then) + 1, micros_of(now)).size
    after = current_rows(store, advance.obj, record)
    assert after is not None
    first = next_time(store, after.parts, period, now)
    due = None
    if first is not None:
        with suppress(RowError):
            # What is after the last year is never due.
            due = datetime_of(first, zoned=True)
    return replace(record, as_of=now, due=due, timed_rows=moved, rows_out=record.rows_out + moved)
