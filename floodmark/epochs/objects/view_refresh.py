"""A view with refresh = 'full': its query over all rows, published as differences.

Dead letters are published as differences, too.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.dataflow import materialize
from floodmark.dataflow.evaluation import Evaluation
from floodmark.dataflow.fresh import FreshStages
from floodmark.epochs.objects import recomputed_letters
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.operators.lower import lower

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def advance(task: ObjectAdvance) -> ObjectRecord:
    """Compute a view's rows; write and commit the differences from its stored rows."""
    obj = task.obj
    assert obj.plan is not None
    work = task.work
    stages = FreshStages(
        task.tables, task.writer, work.before, obj, obj, work.pin, plan_nodes=work.plan_nodes
    )
    inputs = work.inputs(task.tables, obj)
    # The view's plan keeps no state: operators need the names, of what lasts for the epoch alone.
    rows = Evaluation(lower(obj.plan.root), inputs, stages).root()
    changes = _changes(task, stages, rows)
    recomputed_letters.replace_standing(task, stages)
    out, written = task.apply(changes, stages)
    return ObjectRecord(
        obj.key,
        {**task.versions_before(), **written},
        rows_in=task.rows_of_inputs(obj.reads),
        rows_out=out,
        dead_rows=stages.dead_rows,
    )


def _changes(task: ObjectAdvance, stages: FreshStages, rows: Rows | None) -> DataFrame | None:
    """Return the changelog from the stored rows to the computed ones; None for nothing at all."""
    relation = task.obj.relation
    columns, key = relation.columns, relation.stream_key
    names = [ident(f.name) for f in columns]
    frame = None if rows is None else rows.frame
    if rows is not None and rows.failing:
        frame = stages.settle("root", rows, (*columns, WEIGHT_FIELD))
    stored, _ = task.rows_before({})
    sides = [] if frame is None else [frame.selectExpr(*names, WEIGHT)]
    sides += [] if stored is None else [stored.selectExpr(*names, f"-1 AS {WEIGHT}")]
    if not sides:
        return None
    both = Rows(reduce(lambda a, b: a.unionAll(b), sides))
    return materialize.changelog(both, columns, key, task.work.epoch)
