"""Opening an epoch: what it takes, at which time, by which definitions, logged before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from floodmark.connectors.base import Split
from floodmark.epochs.backfill.choice import backfills
from floodmark.epochs.catch_up import lift_gone
from floodmark.storage.epoch_log import OpenRecord
from floodmark.tables import failpoints
from floodmark.warehouse.offers import notes_on
from floodmark.warehouse.warehouse import Warehouse

_STANDS_STILL = timedelta(milliseconds=1)
"""A clock that is no further back than this gives the same time again."""


def open_epoch(
    warehouse: Warehouse,
    epoch: int,
    version: int,
    clock: datetime,
    offers: Mapping[str, Sequence[Split]] | None = None,
    dml: Sequence[Mapping[str, Any]] = (),
    *,
    by_clock: bool = True,
) -> OpenRecord:
    """Log the next epoch; `by_clock`: its time is what the clock says, not a user's word."""
    notes, now, former = list[str](), clock, 0
    if epoch > 1:
        before = warehouse.log.opened(epoch - 1)
        last, former = before.now, before.catalog_version
        if clock <= last:
            now = last + timedelta(microseconds=1)
            if last - clock > _STANDS_STILL:
                notes.append(f"the clock went back from {last} to {clock}; kept {now}")
    notes += notes_on(offers or {}, warehouse.limits.source_behind)
    deployed = warehouse.at_version(version)
    back = deployed.takes_back
    notes += [back.text] if back is not None and version != former else []
    begins = warehouse.catalogs.at(version).dml if version != former else ()
    splits = {k: [split.as_json() for split in v] for k, v in (offers or {}).items() if v}
    restarted = warehouse.change_at(epoch, version).created
    lift_gone(warehouse, restarted, version)
    opened = warehouse.log.open(
        epoch,
        now,
        version,
        warehouse.clock.now(),
        splits=splits,
        dml=[*dml, *begins],
        notes=notes,
        restarted=sorted(restarted),
        backfills=backfills(warehouse, epoch, version, restarted) if epoch > 1 else None,
        exhausted=() if offers is None else _exhausted(warehouse, version, offers),
        renamed=deployed.renamed if version != former else {},
    )
    if by_clock and warehouse.has_machine_clock:
        warehouse.guard.note(warehouse.clock.now())
    failpoints.reach("offsets_logged")
    return opened


def _exhausted(
    warehouse: Warehouse, version: int, offers: Mapping[str, Sequence[Split]]
) -> list[str]:
    """Return the sources that go by the clock of which an epoch takes all that they have."""
    objects = warehouse.at_version(version).pipeline.objects
    declared = ((key, objects[key].declared) for key in warehouse.offers.exhausted(offers))
    return sorted(key for key, says in declared if says is not None and says.clock.acts)
