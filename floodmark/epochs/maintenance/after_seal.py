"""Small maintenance after a seal: tables of the epoch are compacted, scratch files are deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from floodmark.epochs.maintenance import folding
from floodmark.epochs.maintenance.compacting import compact
from floodmark.epochs.publishing import publish_newest
from floodmark.errors import FloodmarkError
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.logs.object_record import versions_of
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout, scratch
from floodmark.warehouse.warehouse import Warehouse


def maintain_tables(
    warehouse: Warehouse,
    before: Mapping[str, ObjectRecord],
    after: Mapping[str, ObjectRecord],
) -> None:
    """Compact and checkpoint due tables of a sealed epoch; delete scratch files.

    A table is looked at only when the epoch has committed to it, through the handle that the commit
    left behind. Errors are logged, and the next seal tries again.
    """
    was, limits = versions_of(before.values()), warehouse.limits
    for table, version in versions_of(after.values()).items():
        old = was.get(table, 0)
        if version == old:
            continue
        with harmless(warehouse, table):
            if len(warehouse.tables.open(table, version).files) > limits.compact_files:
                with warehouse.sessions().guard():
                    compact(warehouse.tables, table)
            if version // limits.checkpoint_commits > old // limits.checkpoint_commits:
                warehouse.store.checkpoint(table)
    pipeline = warehouse.deployed().pipeline
    for key, record in after.items():
        if record is before.get(key) or key not in pipeline.objects:
            continue
        _fold_if_due(warehouse, pipeline[key], record)
        with harmless(warehouse, key):
            _publish_moved(warehouse, pipeline[key], record)
        if not record.backfilling:
            owners = (pipeline[owner] for owner in (key, *pipeline[key].feeders))
            with harmless(warehouse, key):
                scratch.drop(warehouse.objects, warehouse.store, owners)


def _fold_if_due(warehouse: Warehouse, obj: AnalysedObject, record: ObjectRecord) -> None:
    table = layout.layer_table(obj)
    with harmless(warehouse, table):
        if table in record.versions and folding.is_due(warehouse.tables, obj, record):
            with warehouse.sessions().guard():
                folding.fold(warehouse.tables, obj, record)


def _publish_moved(warehouse: Warehouse, obj: AnalysedObject, record: ObjectRecord) -> None:
    """Publish rows that were moved between files, and checkpoint the published table if due."""
    table, store = layout.current_table(obj), warehouse.store
    if obj.opaque or table not in record.versions:
        return
    moved = store.open(table).version != record.versions[table]
    if moved:
        publish_newest(warehouse, obj, record)
    version, due = (
        store.open(layout.publication_table(obj)).version,
        warehouse.limits.checkpoint_commits,
    )
    if version // due > (version - 1 - moved) // due:
        store.checkpoint(layout.publication_table(obj))


@contextmanager
def harmless(warehouse: Warehouse, table: str) -> Iterator[None]:
    """Log errors of the block: the epoch is sealed, and later work must not fail the run."""
    try:
        yield
    except (FloodmarkError, OSError) as error:
        warn(warehouse, table, error)


def warn(warehouse: Warehouse, table: str, error: Exception) -> None:
    """Log an error of a table."""
    with suppress(FloodmarkError):
        warehouse.log.record("warning", warehouse.clock.now(), f"{table}: {error}")
