"""A materialized view in an epoch: the changes of its plan, or of its recomputed rows."""

from __future__ import annotations

from floodmark.dataflow.evaluation import Evaluation
from floodmark.epochs.objects import view_refresh, view_replacement
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.tables.correction_table import with_corrections


def advance(task: ObjectAdvance) -> ObjectRecord:
    """Compute, write and commit the changes of a view in the epoch."""
    obj = task.obj
    assert obj.plan is not None
    if obj.refreshes:
        return view_refresh.advance(task)
    if obj.key in task.work.previous:
        return view_replacement.advance(task)
    inputs = task.work.inputs(task.tables, obj)
    stages = task.stages(obj)
    root = obj.plan.root
    evaluation = Evaluation(obj.plan, inputs, stages)
    rows = evaluation.root()
    if inputs.fills and obj.key in task.work.corrected:
        rows = with_corrections(rows, obj, task.tables, task.work.corrected[obj.key])
    if rows is not None and obj.append_only:
        out, written = task.append(rows, stages)
    else:
        key = obj.relation.stream_key
        within = {c: ends for c, ends in evaluation.bounds(root).items() if c in key}
        out, written = task.update(rows, stages, within)
    marks = inputs.watermarks(obj.plan.top)
    return ObjectRecord(
        obj.key,
        {**task.versions_before(), **stages.versions, **written},
        rows_in=task.rows_of_inputs(obj.reads),
        rows_out=out,
        dead_rows=stages.dead_rows,
        asked=task.external_versions(),
        due=stages.first_due,
        watermarks={w: marks[w] for w, _ in obj.relation.watermarks if w in marks},
    )
