"""Keeping tables small and fast: merging files, log checkpoints, ending what retention ends.

None of it changes what a reader sees, at any retained epoch. A merge is a commit of its own that
changes no data; the next epoch continues from it and pins it anew.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from floodmark.errors import TransientError
from floodmark.runtime.tables import Tables
from floodmark.storage.compaction import plan_compaction
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.table import DataFile, Handle
from floodmark.storage.warehouse import STATE

if TYPE_CHECKING:
    from floodmark.api import Floodmark
    from floodmark.runtime.scheduler import Scheduler

RETENTION = timedelta(days=7)
MOST_FILES = 40
"""Active files of a table above which it is compacted after a seal."""
CHECKPOINT_EVERY = 100


@dataclass(frozen=True)
class MaintenanceReport:
    """What a maintenance did; `compacted_files` counts the files that were merged away."""

    compacted_files: int = 0
    checkpoints: int = 0
    deleted_files: int = 0
    expired_buckets: int = 0


def maintain(floodmark: Floodmark, retention: timedelta = RETENTION) -> MaintenanceReport:
    """Maintain every table of a warehouse, holding the lease; an open epoch is finished first.

    Versions that epochs of the last `retention` pin stay readable, and so do those that a
    suspended object continues from.
    """
    scheduler = floodmark.scheduler
    with scheduler.held("maintenance"):
        head = scheduler.log.head().sealed
        if not head:
            return MaintenanceReport()
        newest = _versions(scheduler.cut().records)
        merged = sum(compact(scheduler.tables, table) for table in _needing(scheduler, newest))
        oldest = oldest_retained(scheduler, retention)
        kept = _versions(scheduler.log.sealed(oldest).objects)
        deleted = 0
        for table in newest:
            scheduler.store.checkpoint(table)
            deleted += scheduler.store.vacuum(
                table,
                retain_versions_from=min(kept.get(table, 0), newest[table]),
                retention_hours=retention / timedelta(hours=1),
            )
        _drop_scratch(scheduler)
        expired = scheduler.log.expire(oldest)
    return MaintenanceReport(merged, len(newest), deleted, expired)


def _drop_scratch(scheduler: Scheduler) -> None:
    """Remove what operators put aside within epochs: folders beside their states, no tables."""
    for folder in (scheduler.root / STATE).glob("*/*/*"):
        if not scheduler.store.exists(folder.relative_to(scheduler.root).as_posix()):
            shutil.rmtree(folder, ignore_errors=True)


def _needing(scheduler: Scheduler, tables: Mapping[str, int]) -> list[str]:
    """Return the tables with files to merge; found without Spark."""
    return [t for t in tables if plan_compaction(scheduler.store.open(t).files)]


def oldest_retained(scheduler: Scheduler, retention: timedelta) -> int:
    """Return the oldest epoch whose versions must stay: young enough, or still needed."""
    log = scheduler.log
    head = log.head().sealed
    limit = scheduler.clock.now() - retention
    needed = [r.position for r in scheduler.cut().records.values() if r.position]
    first = min([head, *needed])
    return next((e for e in log.epochs() if e >= first or log.sealed(e).sealed_at >= limit), first)


def after_seal(
    scheduler: Scheduler,
    before: Mapping[str, ObjectRecord],
    after: Mapping[str, ObjectRecord],
) -> None:
    """Compact and checkpoint the tables of a sealed epoch that are due; costs nothing otherwise.

    A table is looked at only when the epoch has committed to it, through the handle that the commit
    left behind. What goes wrong is logged and left to the next time.
    """
    was = _versions(before)
    for table, version in _versions(after).items():
        old = was.get(table, 0)
        if version == old:
            continue
        try:
            if len(scheduler.tables.at(table, version).files) > MOST_FILES:
                with scheduler.sessions().guarded():
                    compact(scheduler.tables, table)
            if version // CHECKPOINT_EVERY > old // CHECKPOINT_EVERY:
                scheduler.store.checkpoint(table)
        except TransientError as error:
            scheduler.log.record("warning", scheduler.clock.now(), f"{table}: {error.message}")


def compact(tables: Tables, table: str) -> int:
    """Merge a table's small files in one commit that changes no data; return how many went."""
    handle = tables.store.open(table)
    groups = plan_compaction(handle.files)
    if not groups:
        return 0
    written = tuple(file for group in groups for file in _merged(tables, handle, group))
    gone = tuple(file for group in groups for file in group)
    assert sum(f.rows for f in written) == sum(f.rows for f in gone), table
    tables.remember(
        tables.store.commit(
            handle, adds=written, removes=gone, metadata={"maintenance": "compact"},
            data_change=False,
        )
    )  # fmt: skip
    return len(gone)


def _merged(tables: Tables, handle: Handle, group: list[DataFile]) -> tuple[DataFile, ...]:
    """Write the rows of some files as one file."""
    rows = tables.read(handle, handle.schema, group)
    assert rows is not None
    attempt = secrets.randbelow(10**9) + 1
    folder = tables.store.stage(handle.table, handle.version, attempt)
    rows.coalesce(1).write.mode("append").parquet(folder)
    return tables.store.staged(handle.table, handle.version, attempt)


def _versions(records: Mapping[str, ObjectRecord]) -> dict[str, int]:
    return {t: v for record in records.values() for t, v in record.versions.items()}
