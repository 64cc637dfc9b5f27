"""What a sink had written under its former definition, as of the epoch before."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.catalog.types import Schema
from floodmark.changelog import WEIGHT, is_hidden
from floodmark.runtime.evaluation import Evaluation
from floodmark.runtime.inputs import EpochInputs, Origin
from floodmark.runtime.objects.task import WEIGHT_FIELD, Task
from floodmark.runtime.state.fresh import FreshStages
from floodmark.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_of_former(task: Task, sink: AnalysedObject) -> DataFrame | None:
    """Return the rows of a sink's query as of the epoch before, with weight -1.

    They are computed anew, of what it read then; its state is not asked.
    """
    assert sink.plan is not None
    work = task.work
    # Files of its own: the sink's new plan writes beside it.
    writer = replace(task.writer, attempt=secrets.randbelow(10**9) + 1)
    stages = FreshStages(task.tables, writer, work.before, task.found, sink, work.pin)
    now = work.now
    if work.time_of is not None and work.before.epoch:
        now = work.time_of(work.before.epoch)
    inputs = EpochInputs(
        task.tables,
        work.pipeline.objects,
        work.before,
        work.before,
        now,
        fills=True,
        origin=Origin(work.seed, sink.object.stored_key),
        time_of=work.time_of,
    )
    rows = Evaluation(sink.plan, inputs, stages).root()
    if rows is None:
        return None
    columns = (*sink.plan.root.schema, WEIGHT_FIELD)
    frame = stages.settle("root", rows, columns) if rows.failing else rows.frame
    if frame is None:
        return None
    names = [quoted(f.name) for f in sink.plan.root.schema]
    return frame.selectExpr(*names, f"-{WEIGHT} AS {WEIGHT}")


def difference(new: DataFrame | None, old: DataFrame | None, columns: Schema) -> DataFrame | None:
    """Return what has to be written so that the target has the new rows in place of the old.

    `columns` are those of the new plan; equal rows of the target are none, whatever their key was.
    """
    from pyspark.sql import functions as F

    sides = []
    for frame in (new, old):
        if frame is not None:
            here = set(frame.columns)
            texts = [
                quoted(f.name)
                if f.name in here
                else f"CAST(NULL AS {spark_type(f.type)}) AS {quoted(f.name)}"
                for f in columns
            ]
            sides.append(frame.selectExpr(*texts, WEIGHT))
    if len(sides) < 2:
        return sides[0] if sides else None
    both = sides[0].unionAll(sides[1])
    shown = [quoted(f.name) for f in columns if not is_hidden(f.name)]
    total = F.expr(f"CAST(sum({WEIGHT}) AS INT)").alias(WEIGHT)
    hidden = [
        F.expr(f"max_by({quoted(f.name)}, {WEIGHT})").alias(f.name)
        for f in columns
        if is_hidden(f.name)
    ]
    found = both.groupBy(*shown).agg(total, *hidden).where(f"{WEIGHT} <> 0")
    return found.selectExpr(*(quoted(f.name) for f in columns), WEIGHT)
