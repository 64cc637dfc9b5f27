"""A materialized view in an epoch: the changes of its plan."""

from __future__ import annotations

from floodmark.runtime.evaluation import Evaluation
from floodmark.runtime.objects.task import Task
from floodmark.runtime.tables import rows_of
from floodmark.storage.epoch_log import ObjectRecord


def advance(task: Task) -> ObjectRecord:
    """Compute, write and commit what the epoch changes in a view."""
    found = task.found
    assert found.plan is not None
    inputs = task.work.inputs(task.tables, found)
    stages = task.stages(found)
    rows = Evaluation(found.plan, inputs, stages).root()
    if rows is not None and found.append_only:
        out, written = task.append(rows, stages)
    else:
        out, written = task.update(rows, stages)
    marks = inputs.watermarks(found.plan.root)
    return ObjectRecord(
        found.key,
        {**task.kept_versions(), **stages.versions, **written},
        rows_in=task.rows_of_inputs(found.reads),
        rows_out=out,
        dead_rows=sum(rows_of(files) for _, files in stages.dead),
        watermarks={w: marks[w] for w, _ in found.relation.watermarks if w in marks},
    )
