"""Publishing what an epoch has changed before its seal, and what maintenance moves after it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from floodmark import failpoints
from floodmark.errors import FloodmarkError, TransientError
from floodmark.storage.former_rows import are_unpublished, note_published
from floodmark.storage.logs.epochs import ObjectRecord, OpenRecord
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables import layout
from floodmark.tables.publication import publish
from floodmark.warehouse.suspensions import suspend
from floodmark.warehouse.warehouse import Warehouse


def publish_epoch(
    warehouse: Warehouse,
    epoch: OpenRecord,
    records: Mapping[str, ObjectRecord],
    pipeline: Pipeline,
) -> None:
    """Publish the rows of an epoch, by the objects' records, before it is sealed.

    Looks at objects whose rows have another version than in the last sealed epoch, or began anew
    in this one, and at all in the first epoch of a former warehouse.
    """
    every = are_unpublished(warehouse.objects)
    before = {} if every else warehouse.cut().records
    taken = {i["table"]: i["undoes"] for i in epoch.dml if "undoes" in i}
    anew = {*taken, *epoch.restarted}
    suspended = warehouse.suspensions()
    found = [
        (pipeline[key], record)
        for key, record in records.items()
        if key in pipeline.objects and key not in suspended
        if key in anew or key not in before or before[key].versions != record.versions
    ]
    with ThreadPoolExecutor(warehouse.limits.object_threads) as pool:
        for task in [
            pool.submit(_publish_one, warehouse, epoch.epoch, obj, record, taken.get(obj.key))
            for obj, record in found
        ]:
            task.result()
    if every:
        note_published(warehouse.objects)


def publish_newest(warehouse: Warehouse, obj: AnalysedObject, record: ObjectRecord) -> None:
    """Publish the newest version of an object's rows: maintenance may have moved them."""
    table = layout.current_table(obj)
    if not obj.opaque and table in record.versions:
        rows = warehouse.store.open(table)
        _tell(warehouse, obj, publish(warehouse.store, obj, rows, record.position))


def _publish_one(
    warehouse: Warehouse,
    epoch: int,
    obj: AnalysedObject,
    record: ObjectRecord,
    taken: int | None,
) -> None:
    table = layout.current_table(obj)
    if obj.opaque or table not in record.versions:
        return
    try:
        rows = warehouse.store.open(table, record.versions[table])
        _tell(warehouse, obj, publish(warehouse.store, obj, rows, epoch, taken))
    except TransientError:
        raise
    except FloodmarkError as error:
        suspend(warehouse, obj.key, error)
    failpoints.reach("published")


def _tell(warehouse: Warehouse, obj: AnalysedObject, kept: bool) -> None:
    """Log that what another program has written is gone: it was written where nobody reads it."""
    if not kept:
        text = "another program had written into its table; its own rows were put back"
        warehouse.log.record("warning", warehouse.clock.now(), text, object=obj.key)
