"""The choice of views that an epoch backfills or takes into the cut; logged at its opening."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from floodmark.catalog.objects import ObjectKind
from floodmark.catalog.option_values import Integer, UnfitError
from floodmark.errors import UserError
from floodmark.limits import Limits
from floodmark.storage.logs.backfills import BackfillLog
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.dependencies import needs_of
from floodmark.tables.current import current_at_cut
from floodmark.tables.cut import Cut
from floodmark.warehouse.warehouse import Warehouse

VARIABLE = "FLOODMARK_BACKFILL_BYTES"
"""The environment's word on how many bytes a view must read to be backfilled."""


def backfills(
    warehouse: Warehouse, epoch: int, version: int, created: Collection[str]
) -> dict[str, ObjectRecord]:
    """Return the records of views whose backfill begins or ends with an epoch.

    A view is backfilled if it or one of its inputs is large. Its backfill ends when it is ready. It
    also ends if the view has no row yet and the epoch creates an object that is filled from it.
    """
    pipeline = warehouse.definitions_of_version(version).pipeline
    before = warehouse.cut(epoch - 1)
    # What goes on from the rows of a former definition does so at once.
    created = {*created} - {*warehouse.change_at(epoch, version).previous_definitions}
    under = [
        k
        for k, r in before.records.items()
        if r.backfilling and k in pipeline.objects and k not in created
    ]
    if not created and not under:
        return {}
    able = backfillable(pipeline)
    out: dict[str, ObjectRecord] = {}
    for key in under:
        if key not in able:
            out[key] = ObjectRecord(key, {}, touched=False, position=epoch - 1)
            continue
        standing = BackfillLog(warehouse.objects, key, before.records[key].position).standing()
        if standing.ready and standing.record is not None:
            out[key] = standing.record
    waiting = set(under) - out.keys()
    for obj in pipeline.writing_objects:
        if obj.key in created and obj.key in able:
            reads = [pipeline[key] for key in obj.reads if key not in created]
            large = _bytes_of(warehouse, reads, before) > large_bytes(warehouse.limits)
            if large or waiting & set(obj.reads):
                waiting.add(obj.key)
                out[obj.key] = ObjectRecord(
                    obj.key, {}, touched=False, position=epoch, backfilling=True
                )
    return out


def backfillable(pipeline: Pipeline) -> set[str]:
    """Return the materialized views from which only other such views are filled."""
    views = (o for o in pipeline.writing_objects if o.kind is ObjectKind.MATERIALIZED_VIEW)
    out = {o.key for o in views if o.object.begins_whole}
    for obj in reversed(list(pipeline.writing_objects)):
        if obj.key not in out:
            out -= _upstream(obj, pipeline)
    return out


def _upstream(obj: AnalysedObject, pipeline: Pipeline) -> set[str]:
    out: set[str] = set()
    left = list(needs_of(obj, pipeline))
    while left:
        key = left.pop()
        if key not in out and key in pipeline.objects:
            out.add(key)
            left += needs_of(pipeline[key], pipeline)
    return out


def large_bytes(limits: Limits) -> int:
    """Return the size of inputs in bytes above which a view is backfilled; E0881 if malformed."""
    text = os.environ.get(VARIABLE, str(limits.backfill_bytes)).strip()
    try:
        return int(Integer(0).parse(text))
    except UnfitError:
        raise UserError(
            "E0881",
            f"{VARIABLE} is {text!r}",
            hint=f"a number of bytes, such as {VARIABLE}={limits.backfill_bytes}",
        ) from None


def _bytes_of(warehouse: Warehouse, objects: Iterable[AnalysedObject], before: Cut) -> int:
    found = (current_at_cut(warehouse.store, o, before) for o in objects)
    return sum(rows.bytes_of(rows.base.files) for rows in found if rows is not None)
