"""Start records of objects in an epoch that creates or drops some."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from floodmark.storage import warehouse
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import Pipeline
from floodmark.tables import layout
from floodmark.tables.cut import Cut


def epoch_start_records(
    cut: Cut, pipeline: Pipeline, created: Collection[str], previous: Collection[str] = ()
) -> dict[str, ObjectRecord]:
    """Return the records with which an epoch that creates some objects begins.

    Those in `previous` start with the rows of their former definitions.
    """
    return {
        k: _drop_stale_state(r, pipeline, created)
        for k, r in cut.records.items()
        if k in pipeline.objects and (k not in created or k in previous)
    }


def _drop_stale_state(
    record: ObjectRecord, pipeline: Pipeline, created: Collection[str]
) -> ObjectRecord:
    """Return a record without the state of owners that are gone or begin anew in this epoch."""
    obj = pipeline[record.object]
    owners = [o for o in (obj, *map(pipeline.__getitem__, obj.feeders)) if o.key not in created]
    if any(o.opaque for o in owners):
        return record
    states = {name for owner in owners for name in layout.state_tables(owner)}
    versions = {
        table: version
        for table, version in record.versions.items()
        if not table.startswith(f"{warehouse.STATE}/") or table in states
    }
    return replace(record, versions=versions)
