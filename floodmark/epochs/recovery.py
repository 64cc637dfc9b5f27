"""Recovery: finding the epoch that a killed run, statement or apply has left unfinished."""

from __future__ import annotations

from floodmark.warehouse.warehouse import Warehouse


def pending_epoch(warehouse: Warehouse) -> int | None:
    """Return the open epoch, or the one whose definitions are logged; None without any."""
    head = warehouse.log.head()
    if head.open is not None:
        return head.open.epoch
    latest, sealed = warehouse.catalogs.latest(), warehouse.log.catalog_version(head.sealed)
    return head.sealed + 1 if latest is not None and latest.version > sealed else None
