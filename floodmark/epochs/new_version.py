"""Changes of stored tables by the first epoch of a catalog version, before objects advance."""

from __future__ import annotations

from dataclasses import replace

from floodmark.epochs.catch_up import suspend_damaged
from floodmark.epochs.reshape import reshape
from floodmark.epochs.start_records import epoch_start_records
from floodmark.epochs.version_rollback import restore_tables
from floodmark.plan.declaration import Ttl
from floodmark.storage.logs.epochs import ObjectRecord, OpenRecord
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.cut import Cut
from floodmark.warehouse.warehouse import Warehouse


def prepare_records(warehouse: Warehouse, record: OpenRecord) -> dict[str, ObjectRecord]:
    """Return the start records of an epoch's objects, with the present versions of their tables.

    Objects whose tables cannot be read are suspended. Objects that are dropped or refilled in the
    epoch need no tables: an earlier attempt may have emptied them.
    """
    change = warehouse.change_at(record.epoch, record.catalog_version)
    cut = warehouse.cut(record.epoch - 1).rename_keys(record.renamed)
    started = epoch_start_records(
        cut, change.after.pipeline, change.new_keys, change.previous_definitions
    )
    settled, damaged = Cut(cut.epoch, started).settle(warehouse.store)
    suspend_damaged(warehouse, damaged)
    rest = {k: r.at_rest() for k, r in settled.records.items()}
    kept = reshape_objects(warehouse, {**rest, **record.backfills}, record)
    return restore_tables(warehouse, kept, record)


def reshape_objects(
    warehouse: Warehouse, kept: dict[str, ObjectRecord], record: OpenRecord
) -> dict[str, ObjectRecord]:
    """Give stored rows the columns of a catalog version, if the epoch is its first."""
    change = warehouse.change_at(record.epoch, record.catalog_version)
    if change.stays:
        return kept
    before, after = change.before.pipeline, change.after.pipeline
    out = dict(kept)
    for key, how in change.reshapings.items():
        pair = (before[key], after[key])
        tables = lambda: warehouse.tables  # noqa: E731
        out[key] = reshape(warehouse.store, tables, pair, how, kept[key], record)
    for key in out.keys() & before.objects.keys() & after.objects.keys():
        # Under another TTL some rows may be over by now, and others end at another time.
        if _ttl_of(before[key]) != _ttl_of(after[key]):
            out[key] = replace(out[key], due=record.now)
    return out


def _ttl_of(obj: AnalysedObject) -> Ttl | None:
    return None if obj.declared is None else obj.declared.ttl
