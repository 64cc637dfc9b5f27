"""Checks that every writing command makes first; they need no lease and write nothing."""

from __future__ import annotations

from floodmark.epochs.backfill.choice import large_bytes
from floodmark.spark.in_process.choice import is_wanted
from floodmark.storage.checks.log_check import refuse_newer_records
from floodmark.storage.checks.older_log import refuse_tables_ahead
from floodmark.storage.durability import check_choice, durable_by_default, is_durable
from floodmark.warehouse.warehouse import Warehouse


def refuse_unready(warehouse: Warehouse) -> None:
    """Raise the errors that a run would raise before its first epoch.

    These are E0436, E0452 and E0881 for the environment, E0433 if the tables are ahead of the log,
    E0431 if the log lacks a record, E0409 if one is damaged, and E0430 if a newer version wrote it.
    """
    large_bytes(warehouse.limits)
    is_wanted()
    if warehouse.durable is None:
        durable_by_default()
    check_choice(warehouse.objects, warehouse.durable)
    is_durable(warehouse.objects)
    refuse_newer_records(warehouse.objects)
    refuse_tables_ahead(warehouse.log, warehouse.store)
    head = warehouse.log.head()
    epoch = head.sealed if head.open is None else head.open.epoch
    warehouse.catalogs.check_has(warehouse.log.catalog_version(epoch), epoch)
    warehouse.retention_record.kept_epochs()
    warehouse.pending_drops.pending()
