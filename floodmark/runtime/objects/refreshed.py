"""A view that is recomputed: its query over all rows, published as what differs from its own.

Dead letters likewise: those of this epoch's computation less those that stand.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, WEIGHT
from floodmark.runtime import layout
from floodmark.runtime.evaluation import Evaluation
from floodmark.runtime.objects.task import WEIGHT_FIELD, Task
from floodmark.runtime.operators import materialize
from floodmark.runtime.operators.rows import Rows, stamped
from floodmark.runtime.operators.source import DEAD, WITHDRAWN
from floodmark.runtime.state.fresh import FreshStages
from floodmark.runtime.tables import ROUTE
from floodmark.spark.types import quoted
from floodmark.storage.epoch_log import ObjectRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LETTERS = "letters"


def advance(task: Task) -> ObjectRecord:
    """Compute a view's rows, write and commit what differs from those that it has."""
    found = task.found
    assert found.plan is not None
    work = task.work
    stages = FreshStages(task.tables, task.writer, work.before, found, found, work.pin)
    inputs = work.inputs(task.tables, found)
    changes = _changes(task, stages, Evaluation(found.plan, inputs, stages).root())
    _put_aside_difference(task, stages)
    out, written = task.apply(changes, stages)
    return ObjectRecord(
        found.key,
        {**task.kept_versions(), **written},
        rows_in=task.rows_of_inputs(found.reads),
        rows_out=out,
        dead_rows=stages.dead_rows,
    )


def _changes(task: Task, stages: FreshStages, rows: Rows | None) -> DataFrame | None:
    """Return the changelog from the stored rows to the computed ones; None for nothing at all."""
    relation = task.found.relation
    columns, key = relation.columns, relation.stream_key
    names = [quoted(f.name) for f in columns]
    frame = None if rows is None else rows.frame
    if rows is not None and rows.failing:
        frame = stages.settle("root", rows, (*columns, WEIGHT_FIELD))
    stored, _ = task.stored_rows({})
    sides = [] if frame is None else [frame.selectExpr(*names, WEIGHT)]
    sides += [] if stored is None else [stored.selectExpr(*names, f"-1 AS {WEIGHT}")]
    if not sides:
        return None
    both = Rows(reduce(lambda a, b: a.unionAll(b), sides))
    return materialize.changelog(both, columns, key, task.work.epoch)


def _put_aside_difference(task: Task, stages: FreshStages) -> None:
    """Leave of the dead letters those that are new, and those of before that are no more."""
    scratch = layout.state_table(task.found, _LETTERS)
    sides = [
        task.tables.read_paths(task.writer.paths(table, files), layout.DEAD_LETTER)
        for table, files in (*stages.dead, *stages.withdrawn)
    ]
    table = layout.dead_letter_table(task.found)
    version = task.work.before.version(task.found.key, table)
    if version is not None:
        stood = task.tables.read(task.tables.at(table, version), layout.DEAD_LETTER)
        if stood is not None:
            sides.append(stood.selectExpr(EPOCH, f"-{WEIGHT} AS {WEIGHT}", ERROR))
    stages.dead, stages.withdrawn = [], []
    if sides:
        differ = _added_up(reduce(lambda a, b: a.unionAll(b), sides), task.work.epoch)
        files_of = task.writer.write_routed(scratch, differ)
        stages.put_aside(scratch, files_of.get(DEAD, ()), files_of.get(WITHDRAWN, ()))


def _added_up(letters: DataFrame, epoch: int) -> DataFrame:
    """Return dead letters with their total weight, where that is not 0, and where they belong."""
    from pyspark.sql import functions as F

    total = F.expr(f"CAST(sum({WEIGHT}) AS INT)").alias(WEIGHT)
    left = letters.groupBy(ERROR).agg(total).where(f"{WEIGHT} <> 0")
    route = f"CASE WHEN {WEIGHT} < 0 THEN {WITHDRAWN} ELSE {DEAD} END AS {ROUTE}"
    return left.selectExpr(stamped(epoch), WEIGHT, ERROR, route)
