"""What a killed run, statement or apply has left: whoever comes next finishes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from floodmark.epochs.scheduler import Scheduler


def unfinished(scheduler: Scheduler) -> int | None:
    """Return the epoch that is open, or whose definitions are logged; None where there is none."""
    head = scheduler.log.head()
    if head.open is not None:
        return head.open.epoch
    in_force = scheduler.log.catalog_version(head.sealed)
    latest = scheduler.catalogs.latest()
    return head.sealed + 1 if latest is not None and latest.version > in_force else None
