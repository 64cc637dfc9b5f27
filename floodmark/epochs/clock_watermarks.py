"""Windows that time alone closes, because the watermarks of silent sources follow the clock.

Such an epoch runs only when a view that emits on close can release all open windows of these
sources, or as many as time can close. So there is one epoch per view, not one per tick of the
clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from floodmark.epochs.objects.watermarks import Marks
from floodmark.plan import nodes as n
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.dependencies import blocked_keys, upstream_of
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.walks import KnownValues, propagate, propagate_highest
from floodmark.tables.cutoff import LAST
from floodmark.warehouse.warehouse import Warehouse

WatermarkValues = Mapping[str, Any]
ReleasingNode = tuple[str, int]
"""An object, and which of its nodes releases rows."""
ClockRule = Callable[
    [StreamOperator[Any], Mapping[str, WatermarkValues], datetime, KnownValues], WatermarkValues
]


def advances_by_clock(
    warehouse: Warehouse, until: datetime, select: Collection[str] | None
) -> bool:
    """Tell whether an epoch at a time would release rows although no source has new rows.

    The sources were checked before. With `select`, only views that it needs count.
    """
    deployed, cut = warehouse.deployed(), warehouse.cut()
    pipeline, nothing = deployed.pipeline, warehouse.splits.sources_without_more({})
    marks = {
        o.key: Marks.from_record(o.declared, cut.records[o.key], until)
        for o in pipeline.writing_objects
        if o.declared is not None and o.declared.clock.acts
        if o.key in nothing and o.key in cut.records
    }
    if not marks:
        return False
    outside = (key for key, record in cut.records.items() if record.backfilling)
    held = blocked_keys({*warehouse.suspensions(), *outside}, pipeline)
    needed = pipeline.objects.keys() if select is None else upstream_of(select, pipeline)

    def release(sources: Mapping[str, WatermarkValues]) -> dict[ReleasingNode, Any]:
        known = {key: record.watermarks for key, record in cut.records.items()}
        return _propagate(pipeline, {**known, **sources}, until, needed - held, propagate)

    now = {key: mark.close_epoch(True).visible for key, mark in marks.items()}
    last = {
        key: _marks_at_end_of_time(mark).close_epoch(True).visible for key, mark in marks.items()
    }
    rows = {key: _highest(mark) for key, mark in marks.items()}
    reach = _propagate(pipeline, rows, until, needed - held, propagate_highest)
    return _is_worth(release({}), release(now), release(last), reach)


def _marks_at_end_of_time(marks: Marks) -> Marks:
    return Marks(marks.declared, LAST, marks.sealed, marks.max_event_times, marks.last_activity)


def _is_worth(
    before: Mapping[ReleasingNode, Any],
    after: Mapping[ReleasingNode, Any],
    last: Mapping[ReleasingNode, Any],
    reach: Mapping[ReleasingNode, Any],
) -> bool:
    """Tell whether something is released of what rows `reach`: all of it, or all that time can."""
    for column, value in after.items():
        high, earlier = reach.get(column), before.get(column)
        if high is None or value == earlier:
            continue
        waits = earlier is None or earlier <= high
        if waits and (value > high or value == last.get(column)):
            return True
    return False


def _highest(marks: Marks) -> dict[str, Any]:
    """Return the highest times of an object's rows."""
    highs: dict[str, Any] = {}
    for values in marks.max_event_times.values():
        for column, value in values.items():
            highs[column] = max(value, highs.get(column, value))
    return Marks(marks.declared, marks.now, highs, {}, {}).visible


def _propagate(
    pipeline: Pipeline,
    known: Mapping[str, WatermarkValues],
    now: datetime,
    needed: Collection[str],
    rule: ClockRule,
) -> dict[ReleasingNode, Any]:
    """Return, by object and node, what a rule makes of values where rows are released."""
    values, out = dict(known), dict[ReleasingNode, Any]()
    for obj in pipeline.objects.values():
        if obj.plan is None:
            continue
        scanned = {scan.object: values.get(scan.object, {}) for scan in n.scans(obj.plan.root)}
        asked: KnownValues = {}
        if obj.relation.watermarks:
            values[obj.key] = rule(obj.plan.top, scanned, now, asked)
        if obj.emits_on_close and (obj.object.target or obj.key) in needed:
            releases = filter(None, (op.released_by for op in obj.plan.operators.values()))
            for i, (held, column) in enumerate(releases):
                bound = rule(held, scanned, now, asked).get(column)
                if bound is not None:
                    out[obj.key, i] = bound
    return out
