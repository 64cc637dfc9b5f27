"""Dead letters of a recomputed query: unchanged ones stay, the others are retracted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.intake.source import DEAD, WITHDRAWN
from floodmark.dataflow.stages import ObjectStages
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.spark.columns import ROUTE
from floodmark.spark.rows import epoch_expr
from floodmark.tables import layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DEAD_LETTERS = "letters"
_LEFT = "__left"


def standing(advance: ObjectAdvance) -> DataFrame | None:
    """Return the dead letters of an object as of the previous epoch; None if it has none."""
    table = layout.dead_letter_table(advance.obj)
    version = advance.input.before.version(advance.obj.key, table)
    if version is None:
        return None
    return advance.tables.read(advance.tables.open(table, version), layout.DEAD_LETTER)


def pending_letters(stages: ObjectStages) -> DataFrame | None:
    """Return the dead letters of the stages that are not committed yet."""
    parts = [
        stages.tables.read_paths(stages.writer.paths(table, files), layout.DEAD_LETTER)
        for table, files in (*stages.dead, *stages.withdrawn)
    ]
    return reduce(_union, parts) if parts else None


def replace_standing(advance: ObjectAdvance, stages: ObjectStages) -> None:
    """Keep only the difference of the query's dead letters: those that are new or have ended.

    All that stand are of the query whose letters the stages have. This is one job if any stand.
    """
    stood = standing(advance)
    _replace_letters(advance, stages, [] if stood is None else [_side(stood, f"-{WEIGHT}", WEIGHT)])


def withdraw(advance: ObjectAdvance, stages: ObjectStages, previous: Sequence[DataFrame]) -> None:
    """Take back the letters of former queries, beside those that the stages have; one job.

    Others of the object stay, and no more is taken back than there is.
    """
    sides = [_side(frame, f"-{WEIGHT}", "0") for frame in previous]
    stood = standing(advance)
    if stood is not None:
        sides.append(_side(stood, "0", WEIGHT))
    _replace_letters(advance, stages, sides)


def _replace_letters(
    advance: ObjectAdvance, stages: ObjectStages, sides: Sequence[DataFrame]
) -> None:
    """Set new letters against `sides`, and put the difference into the stages."""
    new = pending_letters(stages)
    stages.dead.clear()
    stages.withdrawn.clear()
    sides = [*sides, *([] if new is None else [_side(new, WEIGHT, "0")])]
    if not sides:
        return
    scratch = layout.state_table(advance.obj, _DEAD_LETTERS)
    files_of = advance.writer.write_routed(
        scratch, _differ(reduce(_union, sides), advance.input.epoch)
    )
    stages.add_dead_letters(scratch, files_of.get(DEAD, ()), files_of.get(WITHDRAWN, ()))


def _side(letters: DataFrame, weight: str, left: str) -> DataFrame:
    return letters.selectExpr(f"{weight} AS {WEIGHT}", f"{left} AS {_LEFT}", ERROR)


def _differ(letters: DataFrame, epoch: int) -> DataFrame:
    """Return letters with their total weight, where that is not 0, and where they belong."""
    from pyspark.sql import functions as F

    total = f"greatest(sum({WEIGHT}), least(-sum({_LEFT}), 0))"
    summed = letters.groupBy(ERROR).agg(F.expr(f"CAST({total} AS INT)").alias(WEIGHT))
    route = f"CASE WHEN {WEIGHT} < 0 THEN {WITHDRAWN} ELSE {DEAD} END AS {ROUTE}"
    return summed.where(f"{WEIGHT} <> 0").selectExpr(epoch_expr(epoch), WEIGHT, ERROR, route)


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
