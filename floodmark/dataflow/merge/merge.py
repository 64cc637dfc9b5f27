"""Merge: the operations of a table's writers in an epoch become changes of its rows.

Connectors write first, then sinks (the deletes of all, then, sink by sink, inserts in the order of
their stream key), then DML in statement order. Where rows of a key replace each other the last
operation stands; `conflicts` has the other behaviours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ROW_ID, WEIGHT
from floodmark.dataflow.materialize import NEW_ROW, OLD_ROW
from floodmark.scalar.types import BIGINT, INT, Field, Schema
from floodmark.spark import keyed
from floodmark.spark.types import ident, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ORDER = "__order"
DML_ORDINAL = "__ordinal"
ENDED, SINKS, DML_STAGE = -2, 0, 1_000_000
"""Of operations that statements write; those of connectors have -1, those of sinks their number.

Before all of them stored rows go whose time is over.
"""
STAGE, NUMBER, TIE = "__stage", "__number", "__tie_"
OUTDATED = -2
"""The weight of a late row that takes the row of its key away: it is counted as late."""
PLACE = (STAGE, NUMBER)
PLACE_FIELDS: Schema = (Field(STAGE, INT), Field(NUMBER, BIGINT))
GIVEN, BROUGHT = "__given", "__brought"
"""BOOLEAN: something came for the key. BIGINT: so many rows of sinks, an update counted once."""


def connector_operations(
    frame: DataFrame, columns: Schema, weight: str = "1", passed: Sequence[str] = ()
) -> DataFrame:
    """Return a connector's rows as operations, in row id order and before everything else."""
    return _operations(frame, columns, f"CAST({weight} AS INT) AS {WEIGHT}", -1, ROW_ID, *passed)


def expiry_operations(frame: DataFrame, columns: Schema) -> DataFrame:
    """Return stored rows that are over as deletes, before everything else."""
    return _operations(frame, columns, f"-1 AS {WEIGHT}", ENDED, "0L")


def sink_operations(
    frame: DataFrame, columns: Schema, stream_key: tuple[str, ...], ordinal: int
) -> DataFrame:
    """Return a sink's changes as operations of the target: row, weight and place in the order."""
    tie = f"struct({', '.join(ident(c) for c in stream_key)}) AS {TIE}{ordinal}"
    ties = [tie] if stream_key else []
    return _operations(frame, columns, WEIGHT, ordinal, "0L", *ties)


def dml_operations(frame: DataFrame, columns: Schema) -> DataFrame:
    """Return logged DML rows as operations; statements come after every sink."""
    return _operations(frame, columns, WEIGHT, DML_STAGE, DML_ORDINAL)


def _operations(
    frame: DataFrame, columns: Schema, weight: str, stage: int, ordinal: str, *passed: str
) -> DataFrame:
    names = (ident(f.name) for f in columns)
    place = (f"{stage} AS {STAGE}", f"CAST({ordinal} AS BIGINT) AS {NUMBER}")
    return frame.selectExpr(*names, weight, *place, *passed)


def number_operations(
    frame: DataFrame, columns: Schema, key: tuple[str, ...], tie: int | None
) -> DataFrame:
    """Return operations in a form that can be written: their place in the order is two numbers.

    Those of one key are counted in the order of the `tie` of their sink.
    """
    keys = ", ".join(ident(c) for c in key)
    order = f"row_number() OVER (PARTITION BY {keys} ORDER BY {TIE}{tie})"
    number = NUMBER if tie is None else f"CAST({order} AS BIGINT) AS {NUMBER}"
    return frame.selectExpr(*(ident(f.name) for f in columns), WEIGHT, STAGE, number)


def gather_operations(parts: Sequence[DataFrame], ties: Sequence[int] = ()) -> DataFrame:
    """Return all operations of an epoch, with their place in its order.

    `ties` are the ordinals of the sinks among them that have a stream key.
    """
    one = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    of_sink = f"{STAGE} BETWEEN 0 AND {DML_STAGE - 1}"
    place = [
        f"CASE WHEN {of_sink} THEN {SINKS} ELSE {STAGE} END AS stage",
        f"CASE WHEN {of_sink} THEN {WEIGHT} ELSE 0 END AS weight",
        f"{STAGE} AS writer",
        f"{NUMBER} AS ordinal",
        *(f"{TIE}{i} AS tie{i}" for i in ties),
    ]
    return one.selectExpr("*", f"struct({', '.join(place)}) AS {ORDER}")


def last_per_key(
    operations: DataFrame, columns: Schema, key: tuple[str, ...], firsts: Sequence[str] = ()
) -> DataFrame:
    """Return, per key, the row that the last operation leaves (NULL after a delete).

    Of the columns `firsts` it keeps what the first operation has; beside them it tells what came.
    """
    from pyspark.sql import functions as F

    row = f"struct({', '.join(ident(f.name) for f in columns)})"
    last = f"max_by(struct({WEIGHT} AS w, {row} AS r), {ORDER})"
    kept = [F.expr(f"min_by({name}, {ORDER})").alias(name) for name in firsts]
    came = [F.expr(text).alias(name) for name, text in CAME.items()]
    chosen = operations.groupBy(*map(ident, key)).agg(F.expr(last).alias("last"), *kept, *came)
    keys = [ident(c) for c in key]
    new = f"CASE WHEN last.w > 0 THEN last.r END AS {NEW_ROW}"
    return chosen.selectExpr(*keys, new, *firsts, *CAME)


OF_SINK = f"{ORDER}.stage = {SINKS}"
CAME = {
    GIVEN: f"bool_or({ORDER}.stage > {ENDED} AND {WEIGHT} > {OUTDATED})",
    BROUGHT: f"greatest(count_if({OF_SINK} AND {WEIGHT} > 0), "
    f"count_if({OF_SINK} AND {WEIGHT} = -1))",
}
"""What is told of the operations of a key, by name: aggregates over them."""


def new_row_per_key(changes: DataFrame, columns: Schema, key: tuple[str, ...]) -> DataFrame:
    """Return, per key, the new row of consolidated changes (NULL where there is none)."""
    from pyspark.sql import functions as F

    row = f"struct({', '.join(ident(f.name) for f in columns)})"
    new = F.expr(f"first({row}) FILTER (WHERE {WEIGHT} > 0)").alias(NEW_ROW)
    return changes.groupBy(*map(ident, key)).agg(new)


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
    """Return a pair per key: the stored row, and the columns `passed` of the chosen row.

    A `small` table is joined whole; a larger one is filtered by the keys before the outer join,
    of which there may be `few`. The columns `passed` of the chosen go along.
    """
    names = [ident(f.name) for f in columns]
    row = f"struct({', '.join(names)})"
    if stored is None:
        return chosen.selectExpr(f"CAST(NULL AS {row_type(columns)}) AS {OLD_ROW}", *passed)
    if not small:
        stored = keyed.semi_join(stored, chosen, key, few=few)
    pairs = keyed.left_join(chosen, stored, key, [f"{row} AS {OLD_ROW}"])
    return pairs.selectExpr(OLD_ROW, *passed)


def row_type(columns: Schema) -> str:
    """Return the Spark type of a row."""
    return "struct<" + ",".join(f"{ident(f.name)}:{spark_type(f.type)}" for f in columns) + ">"
