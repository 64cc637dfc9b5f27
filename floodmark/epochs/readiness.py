"""What would refuse every command that writes: asked without writing, and without the lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.epochs.backfill.choice import large_bytes
from floodmark.storage.ahead import refuse_tables_ahead
from floodmark.storage.durability import check_choice, durable_by_default, is_durable

if TYPE_CHECKING:
    from floodmark.epochs.scheduler import Scheduler


def refuse_unready(scheduler: Scheduler) -> None:
    """Raise what a run would before its first epoch, of the environment, the logs and the tables.

    That is E0436 and E0881 of the environment, E0433 where the tables are ahead of the log, E0431
    where the log lacks a record, E0409 where one is damaged.
    """
    large_bytes()
    if scheduler.durable is None:
        durable_by_default()
    check_choice(scheduler.root, scheduler.durable)
    is_durable(scheduler.root)
    refuse_tables_ahead(scheduler.log, scheduler.store)
    head = scheduler.log.head()
    epoch = head.sealed if head.open is None else head.open.epoch
    scheduler.catalogs.check_has(scheduler.log.catalog_version(epoch), epoch)
    scheduler.kept.read()
    scheduler.leaving.read()
