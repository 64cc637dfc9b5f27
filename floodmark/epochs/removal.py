"""Removal of tables: those of refilled objects before their first rows, of dropped ones after the
seal.

If a process ends at any step, the next one continues.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from floodmark import failpoints
from floodmark.storage.logs.backfills import fence
from floodmark.storage.logs.correction_versions import CorrectedTables
from floodmark.storage.records.text import unless_newer
from floodmark.storage.warehouse import ROWS
from floodmark.tables import layout
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.warehouse import Warehouse


def empty(
    warehouse: Warehouse,
    created: Iterable[str],
    deployed: Deployed,
    epoch: int,
    previous: Collection[str] = (),
) -> None:
    """Remove the tables that an earlier object of the same name left, not those of this epoch.

    Those in `previous` keep their rows, and lose their state.
    """
    for key in created:
        obj = deployed.pipeline[key]
        home = deployed.pipeline[obj.object.target or key].object.storage_key
        kept = {layout.corrections_table(obj)} if key in deployed.corrected else set()
        if key in previous:
            kept = {*layout.names_of(obj)} - {*layout.state_tables(obj)}
        tables = sorted({*layout.tables_of(obj, warehouse.store)} - kept)
        for table in [t for t in tables if not _is_of_epoch(warehouse, t, home, epoch)]:
            drop(warehouse, table)
            failpoints.reach("table_emptied")


def drop(warehouse: Warehouse, table: str) -> None:
    """Remove a table."""
    with fence(warehouse.objects):
        CorrectedTables(warehouse.objects).forget(table)
        warehouse.store.drop(table)
        if table.startswith(f"{ROWS}/"):
            warehouse.store.drop(table.removeprefix(f"{ROWS}/"))


def _is_of_epoch(warehouse: Warehouse, table: str, home: str, epoch: int) -> bool:
    """Tell whether an earlier attempt at an epoch has written a table; a damaged one is none.

    A table of a newer version of the engine is not removed: E0430.
    """
    with unless_newer():
        done = warehouse.store.open(table).transaction(home)
        return done is not None and done >= epoch
    return False


def leave(warehouse: Warehouse, gone: Iterable[str], version: int) -> None:
    """Record that the tables of some objects will be removed with a version of the definitions."""
    pipeline = warehouse.deployed().pipeline
    tables = [t for key in gone for t in layout.tables_of(pipeline[key], warehouse.store)]
    if tables:
        warehouse.pending_drops.write(version, tables)


def finish(warehouse: Warehouse) -> None:
    """Remove the recorded tables if the epoch that drops them is sealed; the lease is held."""
    pending = warehouse.pending_drops.pending()
    if pending is None:
        return
    latest, head = warehouse.catalogs.latest(), warehouse.log.head()
    if latest is not None and latest.version >= pending.version:
        sealed = warehouse.log.catalog_version(head.sealed)
        if sealed < pending.version:
            return
        for table in pending.tables:
            drop(warehouse, table)
            failpoints.reach("table_dropped")
    warehouse.pending_drops.forget()
