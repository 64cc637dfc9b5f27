"""Objects that change because time has passed, though no input does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from floodmark.catalog.functions.intervals import datetime_of, micros_of
from floodmark.plan import nodes as n
from floodmark.runtime import layout
from floodmark.runtime.catch_up import blocked
from floodmark.runtime.run import upstream_of
from floodmark.runtime.state.due import first_of
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    from floodmark.runtime.scheduler import Scheduler

MAX_DUE_ROWS = 1_000_000
"""So many rows, or a file of them, come and go in one epoch: after a long stop there are several
epochs, and each takes the time that it could have had."""


def due(scheduler: Scheduler, until: datetime, select: Collection[str] | None) -> set[str]:
    """Return the objects that change by a time; with `select` those that the selected ones need.

    What is suspended or backfilling, or needs something that is, cannot.
    """
    records = scheduler.cut().records
    found = {k for k, r in records.items() if r.due is not None and r.due <= until}
    if not found:
        return found
    pipeline = scheduler.deployed().pipeline
    outside = (k for k, r in records.items() if r.backfilling)
    held = blocked({*scheduler.log.suspended(), *outside}, pipeline)
    needed = pipeline.objects.keys() if select is None else upstream_of(select, pipeline)
    return (found & needed) - held


def portion(scheduler: Scheduler, objects: Collection[str], until: datetime) -> datetime | None:
    """Return the time of the next epoch where too much is due by a time for one; None elsewhere."""
    files = sorted(_files(scheduler, objects, micros_of(until)), key=first_of)
    rows = 0
    for file in files:
        rows += file.rows
        if rows > MAX_DUE_ROWS and first_of(file) > first_of(files[0]):
            return datetime_of(first_of(file) - 1, zoned=True)
    return None


def _files(scheduler: Scheduler, objects: Collection[str], until: int) -> Iterator[DataFile]:
    """Yield the files with something that is due by a time."""
    pipeline, cut = scheduler.deployed().pipeline, scheduler.cut()
    for key in objects:
        owners = (pipeline[key], *(pipeline[feeder] for feeder in pipeline[key].feeders))
        plans = ((owner, owner.plan) for owner in owners if owner.plan is not None)
        for owner, plan in plans:
            filters = (node for node in plan.nodes if isinstance(node, n.TemporalFilter))
            for table in (
                layout.state_table(owner, s.name) for f in filters for s in plan[f].state
            ):
                version = cut.version(key, table)
                files = () if version is None else scheduler.store.open(table, version).files
                yield from (file for file in files if first_of(file) <= until)
