"""Rows and dead letters of sinks under their former definitions, as of the previous epoch."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT, is_hidden
from floodmark.dataflow.evaluation import Evaluation
from floodmark.dataflow.fresh import FreshStages
from floodmark.dataflow.inputs import EpochInputs, ObjectSeed
from floodmark.dataflow.intake import not_null_filter
from floodmark.dataflow.stages import ObjectStages
from floodmark.epochs.objects import recomputed_letters as letters
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.scalar.types import Schema
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.types import ident, spark_type
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.owners import owns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TOTAL, _FRESH, _DIFFERS = "__total", "__fresh", "__differs"


@dataclass
class PreviousDefinitions:
    """The former definitions of sinks into a table, whose rows and letters are retracted."""

    advance: ObjectAdvance
    dead_letters: list[DataFrame] = field(default_factory=list)

    @property
    def sinks_to_remove(self) -> list[AnalysedObject]:
        """Return the sinks that are dropped together with their rows."""
        obj = self.advance.obj
        mine = (s for s in self.advance.input.previous.values() if s.object.target == obj.key)
        return [sink for sink in mine if sink.key not in obj.feeders]

    def rows(self, sink: AnalysedObject) -> DataFrame | None:
        """Return the rows of a sink with weight -1; its dead letters are remembered."""
        rows, put_aside = _compute_rows(self.advance, sink)
        self.dead_letters += [] if put_aside is None else [put_aside]
        return rows

    def withdraw_letters(self, stages: ObjectStages) -> int:
        """Retract former dead letters, except those that the stages have again.

        Return by how many letters those of the stages are more, less than 0 where they stood.
        """
        before = stages.dead_rows
        if self.dead_letters:
            letters.withdraw(self.advance, stages, self.dead_letters)
        return stages.dead_rows - before


def _compute_rows(
    advance: ObjectAdvance, sink: AnalysedObject
) -> tuple[DataFrame | None, DataFrame | None]:
    """Return the rows and the dead letters of a sink's query as of the epoch before.

    They are computed anew, of what it read then; its state is not asked. A table without dead
    letters has none to take back: then those are not computed.
    """
    assert sink.plan is not None and advance.obj.declared is not None
    advance_input = advance.input
    # Files of its own: the sink's new plan writes beside it.
    writer = replace(advance.writer, attempt=secrets.randbelow(10**9) + 1)
    stages = FreshStages(
        advance.tables,
        writer,
        advance_input.before,
        advance.obj,
        sink,
        advance_input.pin,
        plan_nodes=advance_input.plan_nodes,
    )
    now = advance_input.now
    if advance_input.time_of is not None and advance_input.before.epoch:
        now = advance_input.time_of(advance_input.before.epoch)
    inputs = EpochInputs(
        advance.tables,
        advance_input.pipeline.objects,
        advance_input.before,
        advance_input.before,
        now,
        fills=True,
        origin=ObjectSeed(advance_input.seed, sink.object.storage_key),
        time_of=advance_input.time_of,
    )
    rows = Evaluation(sink.plan, inputs, stages).root()
    failed = letters.standing(advance) is not None
    frame, columns = None, sink.plan.root.schema
    if rows is not None:
        rows = not_null_filter.mark_nulls(
            rows, columns, advance.obj.declared, owned=owns(sink.object)
        )
        frame = rows.frame
        if rows.failing and failed:
            frame = stages.settle("root", rows, (*columns, WEIGHT_FIELD))
        elif rows.failing:
            frame = frame.where(f"{ERROR} IS NULL")
    if frame is not None:
        names = [ident(f.name) for f in columns]
        frame = frame.selectExpr(*names, f"-{WEIGHT} AS {WEIGHT}")
    return frame, letters.pending_letters(stages) if failed else None


def difference(
    new: DataFrame | None, old: DataFrame | None, sink: AnalysedObject, key: Sequence[str]
) -> DataFrame | None:
    """Return the changes that replace the old rows by the new ones in the target.

    Where the rows of a `key` of the target differ, all of its new rows are written. The last one
    becomes the target's row, even if an old row was equal to it. A key with the same rows is left
    alone.
    """
    from pyspark.sql import functions as F

    assert sink.plan is not None
    columns = sink.plan.root.schema
    sides = [with_columns(frame, columns) for frame in (new, old) if frame is not None]
    if len(sides) < 2:
        return sides[0] if sides else None
    both = sides[0].unionAll(sides[1])
    shown = [ident(f.name) for f in columns if not is_hidden(f.name)]
    tie = (ident(c) for c in sink.relation.stream_key if is_hidden(c))
    last = f"struct({', '.join((WEIGHT, *tie))})"
    hidden = [
        F.expr(f"max_by({ident(f.name)}, {last})").alias(f.name)
        for f in columns
        if is_hidden(f.name)
    ]
    total = F.expr(f"CAST(sum({WEIGHT}) AS INT)").alias(_TOTAL)
    fresh = F.expr(f"CAST(count_if({WEIGHT} > 0) AS INT)").alias(_FRESH)
    most = f"max(abs({_TOTAL})) OVER (PARTITION BY {', '.join(map(ident, key))}) AS {_DIFFERS}"
    found = both.groupBy(*shown).agg(total, fresh, *hidden).selectExpr("*", most)
    return found.where(f"{_DIFFERS} > 0").selectExpr(
        *(ident(f.name) for f in columns),
        f"CASE WHEN {_FRESH} > 0 THEN {_FRESH} ELSE {_TOTAL} END AS {WEIGHT}",
    )


def with_columns(frame: DataFrame, columns: Schema) -> DataFrame:
    """Return the rows with these columns; a column that they lack is NULL."""
    here = set(frame.columns)
    texts = (
        ident(f.name)
        if f.name in here
        else f"CAST(NULL AS {spark_type(f.type)}) AS {ident(f.name)}"
        for f in columns
    )
    return frame.selectExpr(*texts, WEIGHT)
