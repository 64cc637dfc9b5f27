"""The key that a source of rows has promised: of several rows with one key the first is stored.

The others are dead letters: taking the stored one back would make the source no longer one of rows
that are only added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, ROW_ID, WEIGHT
from floodmark.dataflow.intake.dead_letter_texts import twice as twice_said
from floodmark.dataflow.intake.source import DEAD, GOOD, PLACE
from floodmark.errors import IntakeCode
from floodmark.scalar.types import VARCHAR
from floodmark.spark import keyed
from floodmark.spark.columns import ROUTE
from floodmark.spark.literals import literal
from floodmark.spark.rows import ERROR_TYPE
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NTH, _STORED = "__nth", "__stored"


def once_per_key(
    frame: DataFrame,
    stored: DataFrame | None,
    key: tuple[str, ...],
    promise: str,
    names: Sequence[str],
    row: str,
    *,
    few: bool,
) -> DataFrame:
    """Return the columns `names` of rows, with `__route`.

    The order is that of the row id that they bring along; `promise` and the text `row` of a row are
    what a dead letter shows, `few` tells that there are few.
    """
    keys = ", ".join(map(ident, key))
    ranked = frame.selectExpr(
        "*", f"row_number() OVER (PARTITION BY {keys} ORDER BY {ROW_ID}) AS {_NTH}"
    )
    twice = f"{_NTH} > 1"
    if stored is not None:
        there = keyed.semi_join(stored.selectExpr(*map(ident, key)), frame, key, few=few)
        ranked = keyed.left_join(ranked, there, key, [f"TRUE AS {_STORED}"])
        twice = f"({_NTH} > 1 OR {_STORED} IS NOT NULL)"
    error = (
        f"named_struct('code', {IntakeCode.KEY_TWICE}, 'expression', {literal(promise, VARCHAR)}, "
        f"'row', {row}, 'place', {PLACE}, 'message', {twice_said(promise, key)})"
    )
    return ranked.selectExpr(
        *map(ident, names),
        EPOCH,
        f"CAST(1 AS INT) AS {WEIGHT}",
        f"CASE WHEN {twice} THEN CAST({error} AS {ERROR_TYPE}) END AS {ERROR}",
        f"CASE WHEN {twice} THEN {DEAD} ELSE {GOOD} END AS {ROUTE}",
    )
