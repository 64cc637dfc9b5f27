"""The records with which an epoch begins that creates objects, or ends some."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from floodmark.analysis.pipeline import Pipeline
from floodmark.runtime import layout
from floodmark.runtime.cut import Cut
from floodmark.storage import warehouse
from floodmark.storage.epoch_log import ObjectRecord


def carried(cut: Cut, pipeline: Pipeline, created: Collection[str]) -> dict[str, ObjectRecord]:
    """Return the records with which an epoch that creates some objects begins."""
    return {
        k: _kept(r, pipeline, created)
        for k, r in cut.records.items()
        if k in pipeline.objects and k not in created
    }


def _kept(record: ObjectRecord, pipeline: Pipeline, created: Collection[str]) -> ObjectRecord:
    """Return a record without the state of sinks that are gone, or begin anew in this epoch."""
    found = pipeline[record.object]
    owners = [found, *(pipeline[key] for key in found.feeders if key not in created)]
    states = {name for owner in owners for name in layout.state_tables(owner)}
    versions = {
        table: version
        for table, version in record.versions.items()
        if not table.startswith(f"{warehouse.STATE}/") or table in states
    }
    return replace(record, versions=versions)
