"""Full maintenance: merging files, log checkpoints, and the end of the retention.

None of it changes what a reader sees, at any retained epoch. A merge is a commit of its own that
changes no data. The next epoch continues from it and pins its version.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, WEIGHT
from floodmark.epochs import removal
from floodmark.epochs.backfill.progress import running_backfills
from floodmark.epochs.maintenance import folding
from floodmark.epochs.maintenance.after_seal import harmless, warn
from floodmark.epochs.maintenance.compacting import compact, groups_of, merge_files, write_files
from floodmark.epochs.maintenance.reclaiming import ExpiryBound, ending, reclaim
from floodmark.epochs.publishing import publish_newest
from floodmark.errors import FloodmarkError, TransientError
from floodmark.storage.files.statement_files import expire_statements
from floodmark.storage.logs.backfills import forget
from floodmark.storage.logs.object_record import versions_of
from floodmark.storage.objects.contract import folders_in
from floodmark.storage.table import SHOWN, DataFile
from floodmark.storage.warehouse import (
    CHANGES,
    CORRECTIONS,
    DEAD_LETTER,
    ENGINE,
    LATE,
    LAYERS,
    REPLAYS,
    ROWS,
    STATE,
)
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables import layout, scratch
from floodmark.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class MaintenanceReport:
    """The result of a maintenance.

    `compacted_files` counts merged files. `expired_files` counts expired files of changes, late
    rows, dead letters, statements and source rows. `deleted_files` counts files deleted from disk,
    and `folded_files` files of rows into which a layer of changes was folded.
    """

    compacted_files: int = 0
    checkpoints: int = 0
    expired_files: int = 0
    deleted_files: int = 0
    oldest_epoch: int = 1
    folded_files: int = 0


@dataclass(frozen=True)
class _Horizon:
    """What a maintenance leaves: epochs from `oldest` on, which pin `versions`, and young files.

    `histories` are the tables whose rows expire by epoch, `dead_letter_tables` those that live
    as long as their rows; `anew` are the tables that began after `oldest`. Rows of the tables in
    `ending` are over, as that says.
    """

    oldest: int
    limit: datetime
    versions: Mapping[str, int]
    histories: frozenset[str]
    dead_letter_tables: frozenset[str]
    anew: frozenset[str]
    ending: Mapping[str, ExpiryBound]


HoldTable = Callable[[str], AbstractContextManager[None]]
"""Holds the lease for a purpose; whatever epoch is open is completed first."""


def maintain(
    warehouse: Warehouse, hold: HoldTable, retention: timedelta | None = None
) -> MaintenanceReport:
    """Maintain every table of a warehouse; an open epoch is finished first.

    Epochs of the last `retention` (by default that of the settings) stay readable, and so do epochs
    from which a suspended object has to continue. The lease is held for one table at a time.
    """
    with hold("maintenance"):
        if not warehouse.log.head().sealed:
            return MaintenanceReport()
        now = warehouse.clock.now()
        limit = now - (warehouse.settings.retention if retention is None else retention)
        kept = warehouse.retention_record.keep_from(oldest_retained_epoch(warehouse, limit), now)
        horizon = _horizon(warehouse, kept.oldest, limit)
        forget(
            warehouse.objects,
            [(r.object, r.position) for r in running_backfills(warehouse).values()],
        )
        _drop_scratch(warehouse)
        _drop_orphans(warehouse, horizon)
        expired = _expire_statements(warehouse, horizon)
        folded = _fold_layers(warehouse)
        tables = list(versions_of(warehouse.cut().records.values()))
    reports = [_maintain_table(warehouse, hold, table, horizon) for table in tables]
    reports += _maintain_publications(warehouse, hold, horizon)
    return MaintenanceReport(
        sum(r.compacted_files for r in reports),
        sum(r.checkpoints for r in reports),
        expired + sum(r.expired_files for r in reports),
        sum(r.deleted_files for r in reports),
        kept.oldest,
        folded,
    )


def is_due(warehouse: Warehouse) -> bool:
    """Tell whether enough time has passed since the last maintenance for another one."""
    if not warehouse.log.head().sealed:
        return False
    since = (
        warehouse.retention_record.kept_epochs().cleaned_at
        or warehouse.log.seal_record(1).sealed_at
    )
    often = timedelta(hours=warehouse.limits.clean_up_hours)
    return warehouse.clock.now() - since >= min(often, warehouse.settings.retention)


def oldest_retained_epoch(warehouse: Warehouse, limit: datetime) -> int:
    """Return the oldest epoch that must stay: sealed at `limit` or later, or still needed."""
    log = warehouse.log
    needed = [max(r.position, 1) for r in warehouse.cut().records.values()]
    first = min([log.head().sealed, *needed])
    known = warehouse.retention_record.kept_epochs().oldest
    older = bisect_left(
        range(1, first + 1),
        limit,
        lo=min(known, first) - 1,
        key=lambda e: log.seal_record(e).sealed_at,
    )
    return min(older + 1, first)


def _horizon(warehouse: Warehouse, oldest: int, limit: datetime) -> _Horizon:
    pipeline = warehouse.deployed().pipeline
    return _Horizon(
        oldest,
        limit,
        versions_of(warehouse.log.seal_record(oldest).objects.values()),
        frozenset(t for obj in pipeline.writing_objects for t in _histories(obj)),
        frozenset(
            layout.dead_letter_table(obj)
            for obj in pipeline.writing_objects
            if not layout.expires_dead_letters(obj)
        ),
        frozenset(_tables_of_refills(warehouse, oldest)),
        ending(pipeline, warehouse.cut().records),
    )


def _histories(obj: AnalysedObject) -> list[str]:
    """Return the tables whose rows expire."""
    names = [layout.changes_table(obj), layout.late_table(obj)]
    if layout.expires_dead_letters(obj):
        names.append(layout.dead_letter_table(obj))
    return names


def _tables_of_refills(warehouse: Warehouse, oldest: int) -> Iterable[str]:
    """Yield the tables of objects that began anew after an epoch: their versions start over."""
    for version in reversed(warehouse.catalogs.versions()):
        if version.epoch <= oldest:
            return
        pipeline: Pipeline = warehouse.definitions_of_version(version.version).pipeline
        for key in warehouse.change_at(version.epoch, version.version).new_keys:
            yield from layout.tables_of(pipeline[key], warehouse.store)


def _fold_layers(warehouse: Warehouse) -> int:
    """Put all layers of changes into the rows below them; return how many files that replaced."""
    pipeline, records = warehouse.deployed().pipeline, warehouse.cut().records
    layered = {
        key: record
        for key, record in records.items()
        if key in pipeline.objects and not pipeline[key].opaque
        if layout.layer_table(pipeline[key]) in record.versions
    }
    if not layered:
        return 0
    folded = 0
    for key, record in layered.items():
        with harmless(warehouse, key), warehouse.sessions().guard():
            folded += folding.fold(warehouse.tables, pipeline[key], record)
    return folded


def _maintain_table(
    warehouse: Warehouse, hold: HoldTable, table: str, horizon: _Horizon
) -> MaintenanceReport:
    """Maintain a table; what is wrong with it alone is logged, and keeps nothing from the others.

    What the world is at fault for ends the maintenance.
    """
    try:
        return _maintain_one(warehouse, hold, table, horizon)
    except TransientError:
        raise
    except FloodmarkError as error:
        warn(warehouse, table, error)
        return MaintenanceReport()


def _maintain_one(
    warehouse: Warehouse, hold: HoldTable, table: str, horizon: _Horizon
) -> MaintenanceReport:
    with hold(f"maintaining {table}"):
        store = warehouse.store
        if not store.exists(table):
            return MaintenanceReport()
        expired = _expire_rows(warehouse, table, horizon) if table in horizon.histories else 0
        if table in horizon.dead_letter_tables:
            expired = _expire_letters(warehouse, table, horizon)
        if table in horizon.ending:
            with warehouse.sessions().guard():
                expired += reclaim(warehouse.tables, table, horizon.ending[table])
        gone = 0
        if groups_of(store.open(table), warehouse.limits):
            with warehouse.sessions().guard():
                gone = compact(warehouse.tables, table)
        store.checkpoint(table)
        pinned = 0 if table in horizon.anew else horizon.versions.get(table, 0)
        deleted = store.vacuum(
            table,
            retain_versions_from=min(pinned, store.open(table).version),
            written_before=horizon.limit,
        )
    return MaintenanceReport(gone, 1, expired, deleted)


def _maintain_publications(
    warehouse: Warehouse, hold: HoldTable, horizon: _Horizon
) -> Iterator[MaintenanceReport]:
    """Publish what was moved, and maintain the published tables."""
    pipeline, store = warehouse.deployed().pipeline, warehouse.store
    for key, record in warehouse.cut().records.items():
        if key not in pipeline.objects or pipeline[key].opaque:
            continue
        obj = pipeline[key]
        rows, table = layout.current_table(obj), layout.publication_table(obj)
        if rows not in record.versions:
            continue
        with harmless(warehouse, table), hold(f"maintaining {table}"):
            publish_newest(warehouse, obj, record)
            store.checkpoint(table)
            pinned = 0 if rows in horizon.anew else horizon.versions.get(rows, 0)
            oldest = store.version_at(table, SHOWN, pinned)
            deleted = 0
            if oldest is not None:
                deleted = store.vacuum(
                    table, retain_versions_from=oldest, written_before=horizon.limit
                )
            yield MaintenanceReport(0, 1, 0, deleted)


def _expire_rows(warehouse: Warehouse, table: str, horizon: _Horizon) -> int:
    """Take the rows of expired epochs out of a table; return how many files went.

    The commit is one that changes no data: nobody who follows the table is told of it.
    """
    handle = warehouse.store.open(table)
    old = [f for f in handle.files if f.low.get(EPOCH, horizon.oldest) < horizon.oldest]
    if not old:
        return 0
    mixed = [f for f in old if f.high.get(EPOCH, horizon.oldest) >= horizon.oldest]
    kept: tuple[DataFile, ...] = ()
    if mixed:
        with warehouse.sessions().guard():
            kept = merge_files(warehouse.tables, handle, mixed, f"{EPOCH} >= {horizon.oldest}")
    warehouse.store.commit(
        handle, adds=kept, removes=old, metadata={"maintenance": "expire"}, data_change=False
    )
    return len(old)


def _expire_letters(warehouse: Warehouse, table: str, horizon: _Horizon) -> int:
    """Take dead letters out that were taken back before the oldest epoch; return how many files."""
    handle = warehouse.store.open(table)
    old = [f for f in handle.files if f.low.get(EPOCH, horizon.oldest) < horizon.oldest]
    if not any(f.low.get(WEIGHT, 0) < 0 for f in old):
        return 0
    with warehouse.sessions().guard():
        rows = warehouse.tables.read(handle, handle.schema, old)
        assert rows is not None
        standing = _standing(rows, horizon.oldest).coalesce(1)
        kept = write_files(warehouse.tables, handle, standing)
    warehouse.store.commit(
        handle, adds=kept, removes=old, metadata={"maintenance": "expire"}, data_change=False
    )
    return len(old)


def _standing(letters: DataFrame, oldest: int) -> DataFrame:
    """Return dead letters with those before an epoch added up; what came and went is none."""
    from pyspark.sql import functions as F

    total = F.expr(f"CAST(sum({WEIGHT}) AS INT)").alias(WEIGHT)
    summed = letters.where(f"{EPOCH} < {oldest}").groupBy(ERROR)
    before = summed.agg(F.expr(f"min({EPOCH})").alias(EPOCH), total).where(f"{WEIGHT} <> 0")
    names = (EPOCH, WEIGHT, ERROR)
    return before.select(*names).unionAll(letters.where(f"{EPOCH} >= {oldest}").select(*names))


def _expire_statements(warehouse: Warehouse, horizon: _Horizon) -> int:
    """Remove the rows of statements before the oldest epoch, and of those that never got one."""

    last = horizon.limit + timedelta(hours=warehouse.limits.clean_up_statement_hours)

    def needed_paths() -> set[str]:
        paths = set[str]()
        for epoch in warehouse.log.epochs(after=horizon.oldest - 1):
            opened = warehouse.log.open_record(epoch)
            paths.update(path for item in opened.dml for path in item["paths"])
            if opened.opened_at > last:
                break
        return paths

    return expire_statements(warehouse.objects, horizon.limit, needed_paths)


def _drop_scratch(warehouse: Warehouse) -> None:
    """Remove what operators put aside within epochs: folders beside their states, no tables."""
    # The steps of backfills hold no lease.
    pipeline, records = warehouse.deployed().pipeline, running_backfills(warehouse)
    busy = {layout.state_table(pipeline[key], "any").rpartition("/")[0] for key in records}
    objects = warehouse.objects
    states = folders_in(objects, STATE, 3)
    others = (folder for folder in states if folder.rpartition("/")[0] not in busy)
    scratch.drop_scratch(objects, warehouse.store, others)
    limit = time.time_ns() - warehouse.limits.clean_up_replay_hours * 3_600 * 10**9
    for folder in folders_in(objects, f"{ENGINE}/{REPLAYS}"):
        # What a replay leaves that was killed; one that runs holds no lease.
        last = objects.last_write(folder)
        if last is not None and last < limit:
            objects.remove(folder)


def _drop_orphans(warehouse: Warehouse, horizon: _Horizon) -> None:
    """Remove tables that earlier definitions left and no epoch that is kept began with.

    Users may put tables of their own beside the objects' rows: those folders are not looked at.
    """
    objects, store = warehouse.deployed().pipeline.objects.values(), warehouse.store
    known = {*horizon.versions, *versions_of(warehouse.cut().records.values())}
    # The first rows of a table are written before it is one, by a backfill beside this.
    known.update(t for obj in objects for t in layout.names_of(obj))
    parts = (ROWS, CHANGES, LAYERS, LATE, DEAD_LETTER, CORRECTIONS)
    places = ((STATE, 3), *((part, 2) for part in parts))
    for table in [t for top, depth in places for t in folders_in(warehouse.objects, top, depth)]:
        # An epoch in between may have written it: replays need its rows as long as that is kept.
        if table not in known and store.last_commit(table) < horizon.limit.timestamp() * 1e9:
            removal.drop(warehouse, table)
