"""Catching up: objects whose suspension ended go through the epochs that they missed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from floodmark.epochs.run import OnRecord, Run
from floodmark.errors import FloodmarkError
from floodmark.storage.logs.epochs import ObjectRecord, OpenRecord
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.dependencies import blocked_keys
from floodmark.tables.cut import Cut, EpochProgress
from floodmark.warehouse.suspensions import suspend
from floodmark.warehouse.warehouse import Warehouse


def suspend_damaged(warehouse: Warehouse, damaged: Mapping[str, FloodmarkError]) -> None:
    """Suspend, as an epoch begins, the objects whose tables cannot be read."""
    suspended = warehouse.log.suspensions()
    for key, error in damaged.items():
        if key not in suspended:
            suspend(warehouse, key, error)


def unreadable(warehouse: Warehouse) -> dict[str, FloodmarkError]:
    """Return, by object, why tables that the last seal pins cannot be read.

    Looks for two file names per table.
    """
    damaged, suspended = warehouse.cut().settle(warehouse.store)[1], warehouse.log.suspensions()
    return {key: error for key, error in damaged.items() if key not in suspended}


def lift_suspensions(warehouse: Warehouse, restarted: Collection[str], version: int) -> None:
    """End the suspensions of objects that are dropped or refilled."""
    defined = warehouse.definitions_of_version(version).pipeline.objects
    for key in warehouse.log.suspensions():
        if key in restarted or key not in defined:
            now = warehouse.clock.now()
            warehouse.log.record("resume", now, "defined anew", object=key)


def lagging_objects(
    warehouse: Warehouse, records: Mapping[str, ObjectRecord], pipeline: Pipeline, epoch: int
) -> set[str]:
    """Return the objects that have epochs to catch up before this one.

    Suspended objects and views that are backfilling are not among them.
    """
    outside = {k for k, r in records.items() if r.backfilling}
    held = blocked_keys({*warehouse.suspensions(), *outside}, pipeline)
    return {k for k, r in records.items() if k not in held and r.position < epoch - 1}


def catch_up_objects(
    warehouse: Warehouse,
    records: Mapping[str, ObjectRecord],
    pipeline: Pipeline,
    record: OpenRecord,
    created: frozenset[str],
    on_progress: OnRecord | None = None,
) -> dict[str, ObjectRecord]:
    """Advance objects by their missed epochs, oldest first; return all objects' records.

    The record of an object that caught up has the counts of all these epochs.
    """
    out, epoch = dict(records), record.epoch
    missing = lagging_objects(warehouse, records, pipeline, epoch)
    first = min((records[key].position for key in missing), default=epoch - 1) + 1
    for missed in range(first, epoch):
        late = {k for k, r in out.items() if r.position < missed}
        sealed = warehouse.log.seal_record(missed - 1).objects if missed > 1 else {}
        before = {**{k: r for k, r in sealed.items() if k in out}, **{k: out[k] for k in late}}
        progress = EpochProgress(Cut(missed - 1, before), missed)
        for key, done in warehouse.log.seal_record(missed).objects.items():
            if key in out and key not in late:
                progress.add(done)
        opened = warehouse.log.open_record(missed)
        run = Run(warehouse, opened, pipeline, progress, on_progress=on_progress, catches_up=True)
        run.advance(late - created)
        out.update({k: r.add_earlier(out[k]) for k, r in progress.records.items() if k in late})
    return out
