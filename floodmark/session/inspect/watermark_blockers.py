"""Blockers of a watermark: the connector of a source or table, or inputs of a view."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.declaration import TIMES, clock_value
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.operators.walks import propagate
from floodmark.tables.cutoff import LAST

CONNECTOR = "connector"
PartitionMarks = Mapping[str, Mapping[str, Any]]
"""Watermarks by object and column."""


def watermark_blockers(
    obj: AnalysedObject, column: str, pipeline: Pipeline, marks: PartitionMarks, now: datetime
) -> tuple[str, ...]:
    """Return the connectors or inputs that hold a column's watermark back.

    Statements never hold one back. Inputs that are equally far behind are all included.
    """
    if obj.plan is None:
        connected = obj.declared is not None and obj.declared.connector is not None
        return (CONNECTOR,) if connected else ()
    names = tuple(dict.fromkeys(s.object for s in n.scans(obj.plan.root) if s.watermarks))
    scanned = {name: marks.get(name, {}) for name in names}
    top = obj.plan.top
    present = propagate(top, scanned, now).get(column)

    def waits_for(name: str) -> bool:
        ahead = {**scanned, name: _far_ahead(pipeline[name])}
        return _is_above(propagate(top, ahead, now).get(column), present)

    alone = [name for name in names if waits_for(name)]
    return tuple(pipeline[name].name for name in alone or names)


def _is_above(value: Any, other: Any) -> bool:
    return value is not None and (other is None or value > other)


def _far_ahead(obj: AnalysedObject) -> dict[str, Any]:
    """Return watermarks in time that hold nothing back."""
    types = {f.name: f.type for f in obj.relation.columns}
    columns = (column for column, _ in obj.relation.watermarks)
    return {c: clock_value(LAST, types[c]) for c in columns if types[c].kind in TIMES}
