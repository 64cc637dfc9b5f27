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


def refresh_view(advance: ObjectAdvance) -> ObjectRecord:
    """Compute a view's rows; write and commit the differences from its stored rows."""
    obj = advance.obj
    assert obj.plan is not None
    advance_input = advance.input
    stages = FreshStages(
        advance.tables,
        advance.writer,
        advance_input.before,
        obj,
        obj,
        advance_input.pin,
        plan_nodes=advance_input.plan_nodes,
    )
    inputs = advance_input.inputs(advance.tables, obj)
    # The view's plan keeps no state: operators need the names, of what lasts for the epoch alone.
    rows = Evaluation(lower(obj.plan.root), inputs, stages).root()
    changes = _changes(advance, stages, rows)
    recomputed_letters.replace_standing(advance, stages)
    out, written = advance.apply(changes, stages)
    return ObjectRecord(
        obj.key,
        {**advance.versions_before(), **written},
        rows_in=advance.rows_of_inputs(obj.reads),
        rows_out=out,
        dead_rows=stages.dead_rows,
    )


def _changes(advance: ObjectAdvance, stages: FreshStages, rows: Rows | None) -> DataFrame | None:
    """Return the changelog from the stored rows to the computed ones; None for nothing at all."""
    relation = advance.obj.relation
    columns, key = relation.columns, relation.stream_key
    names = [ident(f.name) for f in columns]
    frame = None if rows is None else rows.frame
    if rows is not None and rows.failing:
        frame = stages.settle("root", rows, (*columns, WEIGHT_FIELD))
    stored, _ = advance.rows_before({})
    sides = [] if frame is None else [frame.selectExpr(*names, WEIGHT)]
    sides += [] if stored is None else [stored.selectExpr(*names, f"-1 AS {WEIGHT}")]
    if not sides:
        return None
    both = Rows(reduce(lambda a, b: a.unionAll(b), sides))
    return materialize.changelog(both, columns, key, advance.input.epoch)
