"""Opening of an epoch: its offsets, time and definitions are logged before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from floodmark import failpoints
from floodmark.connectors.base import Split
from floodmark.epochs.backfill.choice import backfills
from floodmark.epochs.catch_up import lift_suspensions
from floodmark.storage.logs.epochs import OpenRecord
from floodmark.warehouse.split_enumerator import backlog_notes
from floodmark.warehouse.warehouse import Warehouse

_STANDS_STILL = timedelta(milliseconds=1)
"""A clock that is no further back than this gives the same time again."""


def open_epoch(
    warehouse: Warehouse,
    epoch: int,
    version: int,
    clock: datetime,
    new_splits: Mapping[str, Sequence[Split]] | None = None,
    dml: Sequence[Mapping[str, Any]] = (),
    *,
    by_clock: bool = True,
) -> OpenRecord:
    """Log the next epoch; `by_clock` tells that its time comes from the clock, not from a user."""
    notes, now, previous = list[str](), clock, 0
    if epoch > 1:
        before = warehouse.log.open_record(epoch - 1)
        last, previous = before.now, before.catalog_version
        if clock <= last:
            now = last + timedelta(microseconds=1)
            if last - clock > _STANDS_STILL:
                notes.append(f"the clock went back from {last} to {clock}; kept {now}")
    notes += backlog_notes(new_splits or {}, warehouse.limits.source_behind)
    deployed = warehouse.definitions_of_version(version)
    back = deployed.takes_back
    notes += [back.text] if back is not None and version != previous else []
    initial = warehouse.catalogs.get(version).dml if version != previous else ()
    splits = {k: [split.as_json() for split in v] for k, v in (new_splits or {}).items() if v}
    restarted = warehouse.change_at(epoch, version).new_keys
    lift_suspensions(warehouse, restarted, version)
    opened = warehouse.log.open(
        epoch,
        now,
        version,
        warehouse.clock.now(),
        splits=splits,
        dml=[*dml, *initial],
        notes=notes,
        restarted=sorted(restarted),
        backfills=backfills(warehouse, epoch, version, restarted) if epoch > 1 else None,
        exhausted=() if new_splits is None else _sources_at_end(warehouse, version, new_splits),
        renamed=deployed.renamed if version != previous else {},
    )
    if by_clock and warehouse.has_machine_clock:
        warehouse.guard.note(warehouse.clock.now())
    failpoints.reach("offsets_logged")
    return opened


def _sources_at_end(
    warehouse: Warehouse, version: int, new_splits: Mapping[str, Sequence[Split]]
) -> list[str]:
    """Return the sources that go by the clock of which an epoch takes all that they have."""
    objects = warehouse.definitions_of_version(version).pipeline.objects
    declared = (
        (key, objects[key].declared) for key in warehouse.splits.sources_without_more(new_splits)
    )
    return sorted(key for key, says in declared if says is not None and says.clock.acts)
