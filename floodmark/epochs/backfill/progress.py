"""Progress of backfills: which ones are running, the next step of each, and texts about it."""

from __future__ import annotations

from collections.abc import Mapping

from floodmark.storage.logs.backfills import BackfillLog, BackfillState, BackfillStep
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.lint.advice import merges_epochs
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.warehouse import Warehouse


def running_backfills(warehouse: Warehouse) -> dict[str, ObjectRecord]:
    """Return the views that are backfilling as of the last sealed epoch, with their records."""
    objects = warehouse.deployed().pipeline.objects
    records = warehouse.cut().records
    return {k: r for k, r in records.items() if r.backfilling and k in objects}


def resumable_backfills(warehouse: Warehouse) -> dict[str, int]:
    """Return the views whose backfill can go on, each with the epoch that created it.

    A suspended view cannot, nor one whose inputs are backfilling or not created yet.
    """
    running = running_backfills(warehouse)
    if not running:
        return {}
    suspended = warehouse.suspensions()
    pipeline, records = warehouse.deployed().pipeline, warehouse.cut().records
    return {
        key: record.position
        for key, record in running.items()
        if key not in suspended and _reachable(warehouse, pipeline[key], records) is not None
    }


def next_step(
    warehouse: Warehouse, obj: AnalysedObject, standing: BackfillState
) -> BackfillStep | None:
    """Return the next step of a backfill; None if the view can join the epochs."""
    if standing.open is not None:
        return standing.open
    last = _reachable(warehouse, obj, warehouse.cut().records)
    if standing.record is None:
        return None if last is None else BackfillStep(last)
    done = standing.record.position
    if last is None or last <= done:
        return None
    whole = [e for e in range(done + 1, last + 1) if _is_whole(warehouse, obj, e)]
    if last - done <= warehouse.limits.backfill_reach_epochs and len(whole) == last - done:
        return None
    return BackfillStep(last if merges_epochs(obj) else whole[0], done + 1)


def _is_whole(warehouse: Warehouse, obj: AnalysedObject, epoch: int) -> bool:
    """Tell whether all that a view reads had taken in a sealed epoch when it was sealed."""
    records = warehouse.log.seal_record(epoch).objects
    return all(key in records and records[key].position == epoch for key in obj.reads)


def _reachable(
    warehouse: Warehouse, obj: AnalysedObject, records: Mapping[str, ObjectRecord]
) -> int | None:
    """Return the newest sealed epoch with all that a view reads; None where there is none."""
    reads = [records.get(key) for key in obj.reads]
    positions = [r.position for r in reads if r is not None and not r.backfilling]
    if len(positions) < len(reads):
        return None
    last = min(positions, default=warehouse.log.head().sealed)
    return last if last and _is_whole(warehouse, obj, last) else None


def words(warehouse: Warehouse, record: ObjectRecord) -> str:
    """Return the progress of a backfill as text."""
    head = warehouse.log.head().sealed
    standing = BackfillLog(warehouse.objects, record.object, record.position).standing()
    if standing.record is not None:
        return f"backfilling, {head - standing.record.position} epochs behind"
    if standing.open is not None:
        return f"backfilling, at the rows of epoch {standing.open.epoch}"
    return "backfilling, not begun"
