"""A materialized view in an epoch: the changes of its plan, or of its recomputed rows."""

from __future__ import annotations

from floodmark.dataflow.evaluation import Evaluation
from floodmark.epochs.objects import refreshed, replaced
from floodmark.epochs.objects.task import Task
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.tables.stored import with_corrections


def advance(task: Task) -> ObjectRecord:
    """Compute, write and commit what the epoch changes in a view."""
    found = task.found
    assert found.plan is not None
    if found.refreshes:
        return refreshed.advance(task)
    if found.key in task.work.former:
        return replaced.advance(task)
    inputs = task.work.inputs(task.tables, found)
    stages = task.stages(found)
    root = found.plan.root
    evaluation = Evaluation(found.plan, inputs, stages)
    rows = evaluation.root()
    if inputs.fills and found.key in task.work.corrected:
        rows = with_corrections(rows, found, task.tables, task.work.corrected[found.key])
    if rows is not None and found.append_only:
        out, written = task.append(rows, stages)
    else:
        key = found.relation.stream_key
        within = {c: ends for c, ends in evaluation.bounds(root).items() if c in key}
        out, written = task.update(rows, stages, within)
    marks = inputs.watermarks(found.plan.top)
    return ObjectRecord(
        found.key,
        {**task.kept_versions(), **stages.versions, **written},
        rows_in=task.rows_of_inputs(found.reads),
        rows_out=out,
        dead_rows=stages.dead_rows,
        asked=task.asked(),
        due=stages.due,
        watermarks={w: marks[w] for w, _ in found.relation.watermarks if w in marks},
    )
