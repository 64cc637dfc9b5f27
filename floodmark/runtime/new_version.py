"""What the first epoch of a catalog version does to tables at rest, before any object advances."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from floodmark.catalog.functions.intervals import micros_of
from floodmark.runtime import layout
from floodmark.runtime.definition_changes import reshapings
from floodmark.runtime.reshape import reshape
from floodmark.storage.backfill_log import fence
from floodmark.storage.epoch_log import ObjectRecord, OpenRecord

if TYPE_CHECKING:
    from floodmark.runtime.deployment import Deployed
    from floodmark.runtime.scheduler import Scheduler


def reshaped(
    scheduler: Scheduler, kept: dict[str, ObjectRecord], record: OpenRecord
) -> dict[str, ObjectRecord]:
    """Give stored rows the columns of a catalog version, if the epoch is its first."""
    previous = scheduler.log.opened(record.epoch - 1).catalog_version if record.epoch > 1 else 0
    if previous == record.catalog_version:
        return kept
    before = scheduler.at_version(previous).pipeline
    after = scheduler.at_version(record.catalog_version).pipeline
    out, now = dict(kept), micros_of(record.now)
    for key, how in reshapings(before, after).items():
        pair = (before[key], after[key])
        tables = lambda: scheduler.tables  # noqa: E731
        out[key] = reshape(scheduler.store, tables, pair, how, kept[key], record.epoch, now)
    return out


def clear(
    scheduler: Scheduler,
    created: Iterable[str],
    deployed: Deployed,
    epoch: int,
    former: Collection[str] = (),
) -> None:
    """Remove what an earlier object of the same name left; not what this epoch has written.

    Those in `former` keep their rows, and lose their state.
    """
    for key in created:
        found = deployed.pipeline[key]
        home = found.object.target or key
        kept = {layout.corrections_table(found)} if key in deployed.corrected else set()
        if key in former:
            kept = {*layout.names_of(found)} - {*layout.state_tables(found)}
        for table in {*layout.tables_of(found, scheduler.store)} - kept:
            done = scheduler.store.open(table).transaction(home)
            if done is None or done < epoch:
                with fence(scheduler.root):
                    scheduler.store.drop(table)
