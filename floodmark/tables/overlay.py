"""Newer rows over the rows of a table: the newest of a key replaces the others.

They are layers of changes over rows at rest, and runs of groups over an aggregate's state.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH
from floodmark.limits import Limits
from floodmark.spark import keyed
from floodmark.spark.types import ident
from floodmark.storage.table import DataFile
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ADDED, _PLACE = "__added", "__place"


def rewrite_is_dear(touched: Sequence[DataFile], files: Sequence[DataFile], limits: Limits) -> bool:
    """Tell whether to rewrite the touched files is too much for the few changes in others."""
    changed, rewritten = (sum(f.size for f in chosen) for chosen in (files, touched))
    large = rewritten > max(limits.layer_bytes, limits.layer_factor * changed)
    return large or rows_of(touched) > max(limits.layer_rows, limits.layer_factor * rows_of(files))


def split_runs(files: Sequence[DataFile]) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
    """Return the files of a state table with one row of each group, and its runs."""
    return (
        tuple(file for file in files if EPOCH not in file.high),
        tuple(file for file in files if EPOCH in file.high),
    )


def newest_rows(
    layer: DataFrame, names: Sequence[str], key: Sequence[str], added: str
) -> DataFrame:
    """Return the columns `names` of the newest row of each key, if that is `added`.

    Of one epoch's rows of a key those are the newest that are `added`, a condition.
    """
    by, columns = ", ".join(map(ident, key)), [ident(name) for name in names]
    stamp = () if EPOCH in names else (EPOCH,)
    place = f"row_number() OVER (PARTITION BY {by} ORDER BY {EPOCH} DESC, {_ADDED} DESC)"
    told = layer.selectExpr(*columns, *stamp, f"CASE WHEN {added} THEN 1 ELSE 0 END AS {_ADDED}")
    placed = told.selectExpr(*columns, _ADDED, f"{place} AS {_PLACE}")
    return placed.where(f"{_PLACE} = 1 AND {_ADDED} = 1").selectExpr(*columns)


def overlay(
    rows: DataFrame | None,
    layer: DataFrame,
    newest: DataFrame,
    names: Sequence[str],
    key: Sequence[str],
    *,
    few: bool,
    filled: Collection[str] = (),
) -> DataFrame:
    """Return the columns `names` of a table's rows without a key of the layer, and its newest ones.

    `few` tells that the layer has few rows, `filled` are columns that are NULL in none of the
    table's.
    """
    if rows is None:
        return newest
    kept = keyed.anti_join(rows.selectExpr(*map(ident, names)), layer, key, few=few, filled=filled)
    return kept.unionAll(newest)
