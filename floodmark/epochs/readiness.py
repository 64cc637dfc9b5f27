"""What would refuse every command that writes: asked without writing, and without the lease."""

from __future__ import annotations

from floodmark.epochs.backfill.choice import large_bytes
from floodmark.storage.durability import check_choice, durable_by_default, is_durable
from floodmark.storage.older_log import refuse_tables_ahead
from floodmark.warehouse.warehouse import Warehouse


def refuse_unready(warehouse: Warehouse) -> None:
    """Raise what a run would before its first epoch, of the environment, the logs and the tables.

    That is E0436 and E0881 of the environment, E0433 where the tables are ahead of the log, E0431
    where the log lacks a record, E0409 where one is damaged.
    """
    large_bytes(warehouse.limits)
    if warehouse.durable is None:
        durable_by_default()
    check_choice(warehouse.objects, warehouse.durable)
    is_durable(warehouse.objects)
    refuse_tables_ahead(warehouse.log, warehouse.store)
    head = warehouse.log.head()
    epoch = head.sealed if head.open is None else head.open.epoch
    warehouse.catalogs.check_has(warehouse.log.catalog_version(epoch), epoch)
    warehouse.retention_record.kept_epochs()
    warehouse.pending_drops.pending()
