"""Rows whose period is over leave the disk: nobody sees them, and no later epoch asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from floodmark.analysis.pipeline import Pipeline
from floodmark.catalog.functions.intervals import micros_of
from floodmark.plan.transform import UPPER
from floodmark.runtime import layout
from floodmark.runtime.compacting import merged
from floodmark.runtime.tables import Tables, rows_of
from floodmark.runtime.visible import times
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.table import DataFile, Handle

WORTH = 0.5
"""The share of a file's rows that must be over for what is left of it to be written anew."""


def ending(pipeline: Pipeline, records: Mapping[str, ObjectRecord]) -> dict[str, datetime]:
    """Return, by table, the time before which rows are over, of the sources whose rows end."""
    found = ((pipeline[key], r.as_of) for key, r in records.items() if key in pipeline.objects)
    return {
        layout.current_table(source): as_of
        for source, as_of in found
        if as_of is not None and any(field.name == UPPER for field in source.period)
    }


def reclaim(tables: Tables, table: str, over: datetime) -> int:
    """Take rows out of a table that are over; return how many files went.

    Files are dropped whole where they can be. The commit changes no data: those who follow the
    table have been told of the rows by the time itself. Older versions keep what they had.
    """
    handle = tables.store.open(table)
    gone, mixed = list[DataFile](), list[DataFile]()
    for file in handle.files:
        low, high = file.low.get(UPPER), file.high.get(UPPER)
        if isinstance(high, int) and high <= micros_of(over):
            gone.append(file)
        elif isinstance(low, int) and low <= micros_of(over):
            mixed.append(file)
    rewritten = [file for file in mixed if _is_worth_it(tables, handle, file, over)]
    if not (gone or rewritten):
        return 0
    condition = f"{UPPER} > {micros_of(over)}L"
    kept = merged(tables, handle, rewritten, condition) if rewritten else ()
    tables.store.commit(
        handle,
        adds=kept,
        removes=[*gone, *rewritten],
        metadata={"maintenance": "expire"},
        data_change=False,
    )
    return len(gone) + len(rewritten)


def _is_worth_it(tables: Tables, handle: Handle, file: DataFile, over: datetime) -> bool:
    ends = tuple(field for field in handle.schema if field.name == UPPER)
    first = file.low[UPPER]
    assert isinstance(first, int)
    ended = times(tables.store, [(handle, [file])], ends, first, micros_of(over))
    return bool(ended.size >= WORTH * rows_of([file]))
