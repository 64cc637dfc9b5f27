"""Merge: what a table gathers in an epoch, to the changes of its rows.

Sinks write first (per sink: deletes, then inserts in the order of their stream key), DML after
them in statement order. Per key the last operation stands (DO UPDATE FULL); its old row is the
stored one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.catalog.types import Schema
from floodmark.changelog import ROW_ID, WEIGHT
from floodmark.runtime.operators import keyed
from floodmark.runtime.operators.materialize import NEW_ROW, OLD_ROW
from floodmark.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ORDER = "__order"
DML_ORDINAL = "__ordinal"


def connector_operations(
    frame: DataFrame, columns: Schema, weight: str = "1", passed: Sequence[str] = ()
) -> DataFrame:
    """Return a connector's rows as operations, in row id order and before everything else."""
    order = f"struct(-1 AS stage, 0 AS weight, {ROW_ID} AS ordinal, '' AS tie) AS {ORDER}"
    names = [quoted(f.name) for f in columns]
    return frame.selectExpr(*names, f"CAST({weight} AS INT) AS {WEIGHT}", order, *passed)


def sink_operations(
    frame: DataFrame, columns: Schema, stream_key: tuple[str, ...], ordinal: int
) -> DataFrame:
    """Return a sink's changes as operations of the target: row, weight and place in the order."""
    tie = (
        "to_json(struct(" + ", ".join(quoted(c) for c in stream_key) + "))" if stream_key else "''"
    )
    order = (
        f"struct({ordinal} AS stage, {WEIGHT} AS weight, 0L AS ordinal, {tie} AS tie) AS {ORDER}"
    )
    return frame.selectExpr(*(quoted(f.name) for f in columns), WEIGHT, order)


def dml_operations(frame: DataFrame, columns: Schema) -> DataFrame:
    """Return logged DML rows as operations; statements come after every sink."""
    order = f"struct(1000000 AS stage, 0 AS weight, {DML_ORDINAL} AS ordinal, '' AS tie) AS {ORDER}"
    return frame.selectExpr(*(quoted(f.name) for f in columns), WEIGHT, order)


def gathered(parts: list[DataFrame]) -> DataFrame:
    """Return all operations of an epoch."""
    return reduce(lambda a, b: a.unionAll(b), parts)


def last_per_key(
    operations: DataFrame, columns: Schema, key: tuple[str, ...], firsts: Sequence[str] = ()
) -> DataFrame:
    """Return, per key, the row that the last operation leaves (NULL after a delete).

    Of the columns `firsts` it keeps what the first operation has.
    """
    from pyspark.sql import functions as F

    row = f"struct({', '.join(quoted(f.name) for f in columns)})"
    last = f"max_by(struct({WEIGHT} AS w, {row} AS r), {ORDER})"
    kept = [F.expr(f"min_by({name}, {ORDER})").alias(name) for name in firsts]
    chosen = operations.groupBy(*map(quoted, key)).agg(F.expr(last).alias("last"), *kept)
    keys = [quoted(c) for c in key]
    return chosen.selectExpr(*keys, f"CASE WHEN last.w > 0 THEN last.r END AS {NEW_ROW}", *firsts)


def new_row_per_key(changes: DataFrame, columns: Schema, key: tuple[str, ...]) -> DataFrame:
    """Return, per key, the new row of consolidated changes (NULL where there is none)."""
    from pyspark.sql import functions as F

    row = f"struct({', '.join(quoted(f.name) for f in columns)})"
    new = F.expr(f"first({row}) FILTER (WHERE {WEIGHT} > 0)").alias(NEW_ROW)
    return changes.groupBy(*map(quoted, key)).agg(new)


def pairs(
    chosen: DataFrame,
    stored: DataFrame | None,
    columns: Schema,
    key: tuple[str, ...],
    *,
    small: bool,
    few: bool,
    passed: Sequence[str] = (),
) -> DataFrame:
    """Return a pair per key: the stored row and the one that takes its place.

    A `small` table is joined whole; a larger one is filtered by the keys before the outer join,
    of which there may be `few`. The columns `passed` of the chosen go along.
    """
    names = [quoted(f.name) for f in columns]
    row = f"struct({', '.join(names)})"
    if stored is None:
        return chosen.selectExpr(f"CAST(NULL AS {_struct(columns)}) AS {OLD_ROW}", NEW_ROW, *passed)
    if not small:
        stored = keyed.among(stored, chosen, key, few=few)
    found = keyed.beside(chosen, stored, key, [f"{row} AS {OLD_ROW}"])
    return found.selectExpr(OLD_ROW, NEW_ROW, *passed)


def _struct(columns: Schema) -> str:
    return "struct<" + ",".join(f"{quoted(f.name)}:{spark_type(f.type)}" for f in columns) + ">"
