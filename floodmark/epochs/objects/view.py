"""A materialized view in an epoch: the changes of its plan, or of its recomputed rows."""

from __future__ import annotations

from floodmark.dataflow.evaluation import Evaluation
from floodmark.epochs.objects import view_refresh, view_replacement
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.tables.correction_table import with_corrections


def advance_view(advance: ObjectAdvance) -> ObjectRecord:
    """Compute, write and commit the changes of a view in the epoch."""
    obj = advance.obj
    assert obj.plan is not None
    if obj.refreshes:
        return view_refresh.refresh_view(advance)
    if obj.key in advance.input.previous:
        return view_replacement.replace_view(advance)
    inputs = advance.input.inputs(advance.tables, obj)
    stages = advance.stages(obj)
    root = obj.plan.root
    evaluation = Evaluation(obj.plan, inputs, stages, advance.input.keyed_reads)
    rows = evaluation.root()
    if inputs.fills and obj.key in advance.input.corrected:
        rows = with_corrections(rows, obj, advance.tables, advance.input.corrected[obj.key])
    if rows is not None and obj.append_only:
        out, written = advance.append(rows, stages)
    else:
        key = obj.relation.stream_key
        within = {c: ends for c, ends in evaluation.bounds(root).items() if c in key}
        out, written = advance.update(rows, stages, within)
    marks = inputs.watermarks(obj.plan.top)
    return ObjectRecord(
        obj.key,
        {**advance.versions_before(), **stages.versions, **written},
        rows_in=advance.rows_of_inputs(obj.reads),
        rows_out=out,
        dead_rows=stages.dead_rows,
        asked=advance.external_versions(),
        due=stages.first_due,
        watermarks={w: marks[w] for w, _ in obj.relation.watermarks if w in marks},
    )
