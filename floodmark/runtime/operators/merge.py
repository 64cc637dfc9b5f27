"""Merge: what a table gathers in an epoch, to the changes of its rows.

Connectors write first, then sinks (the deletes of all, then, sink by sink, inserts in the order of
their stream key), then DML in statement order. Where rows of a key replace each other the last
operation stands; `conflicts` has the other behaviours.
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
SINKS, DML_STAGE = 0, 1_000_000
"""Of operations that statements write; those of connectors have -1, those of sinks their number."""
_STAGE, _NUMBER, _TIE = "__stage", "__number", "__tie_"


def connector_operations(
    frame: DataFrame, columns: Schema, weight: str = "1", passed: Sequence[str] = ()
) -> DataFrame:
    """Return a connector's rows as operations, in row id order and before everything else."""
    return _operations(frame, columns, f"CAST({weight} AS INT) AS {WEIGHT}", -1, ROW_ID, *passed)


def sink_operations(
    frame: DataFrame, columns: Schema, stream_key: tuple[str, ...], ordinal: int
) -> DataFrame:
    """Return a sink's changes as operations of the target: row, weight and place in the order."""
    tie = f"struct({', '.join(quoted(c) for c in stream_key)}) AS {_TIE}{ordinal}"
    ties = [tie] if stream_key else []
    return _operations(frame, columns, WEIGHT, ordinal, "0L", *ties)


def dml_operations(frame: DataFrame, columns: Schema) -> DataFrame:
    """Return logged DML rows as operations; statements come after every sink."""
    return _operations(frame, columns, WEIGHT, DML_STAGE, DML_ORDINAL)


def _operations(
    frame: DataFrame, columns: Schema, weight: str, stage: int, ordinal: str, *passed: str
) -> DataFrame:
    names = (quoted(f.name) for f in columns)
    place = (f"{stage} AS {_STAGE}", f"CAST({ordinal} AS BIGINT) AS {_NUMBER}")
    return frame.selectExpr(*names, weight, *place, *passed)


def gathered(parts: Sequence[DataFrame], ties: Sequence[int] = ()) -> DataFrame:
    """Return all operations of an epoch, with their place in its order.

    `ties` are the ordinals of the sinks among them that have a stream key.
    """
    one = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    of_sink = f"{_STAGE} BETWEEN 0 AND {DML_STAGE - 1}"
    place = [
        f"CASE WHEN {of_sink} THEN {SINKS} ELSE {_STAGE} END AS stage",
        f"CASE WHEN {of_sink} THEN {WEIGHT} ELSE 0 END AS weight",
        f"{_STAGE} AS writer",
        f"{_NUMBER} AS ordinal",
        *(f"{_TIE}{i} AS tie{i}" for i in ties),
    ]
    return one.selectExpr("*", f"struct({', '.join(place)}) AS {ORDER}")


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
    passed: Sequence[str] = (NEW_ROW,),
) -> DataFrame:
    """Return a pair per key: the stored row, and the columns `passed` of what is chosen.

    A `small` table is joined whole; a larger one is filtered by the keys before the outer join,
    of which there may be `few`. The columns `passed` of the chosen go along.
    """
    names = [quoted(f.name) for f in columns]
    row = f"struct({', '.join(names)})"
    if stored is None:
        return chosen.selectExpr(f"CAST(NULL AS {row_type(columns)}) AS {OLD_ROW}", *passed)
    if not small:
        stored = keyed.among(stored, chosen, key, few=few)
    found = keyed.beside(chosen, stored, key, [f"{row} AS {OLD_ROW}"])
    return found.selectExpr(OLD_ROW, *passed)


def row_type(columns: Schema) -> str:
    """Return the Spark type of a row."""
    return "struct<" + ",".join(f"{quoted(f.name)}:{spark_type(f.type)}" for f in columns) + ">"
