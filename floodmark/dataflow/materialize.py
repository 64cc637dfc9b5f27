"""Materialize: changes to a clean changelog by stream key, and the rewrite of the current rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import ADDED, EPOCH, GONE, KIND, WEIGHT
from floodmark.scalar.types import Kind, Schema, SqlType
from floodmark.spark import keyed
from floodmark.spark.rows import Rows, epoch_expr
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OLD_ROW, NEW_ROW = "__old_row", "__new_row"
"""STRUCT: the two sides of a pair, NULL where there is none; named apart from every user column."""


def pair(apart: str = "") -> str:
    """Return the text of what a pair that differs changes: an ARRAY of `(__kind, r)`.

    Rows that differ in the column `apart` are two rows, not one that is updated.
    """
    moved = f" OR NOT ({OLD_ROW}.{ident(apart)} <=> {NEW_ROW}.{ident(apart)})" if apart else ""
    gone, come = f"{NEW_ROW} IS NULL{moved}", f"{OLD_ROW} IS NULL{moved}"
    return (
        "filter(array("
        f"struct(CASE WHEN {gone} THEN '-D' ELSE '-U' END AS {KIND}, {OLD_ROW} AS r), "
        f"struct(CASE WHEN {come} THEN '+I' ELSE '+U' END AS {KIND}, {NEW_ROW} AS r)), "
        "x -> x.r IS NOT NULL)"
    )


def changelog(rows: Rows, columns: Schema, key: tuple[str, ...], epoch: int) -> DataFrame:
    """Return `(__epoch, __kind, row)`: at most one old and one new row per key, no empty updates.

    Rows that cancel out are dropped first; a row that comes and goes within the epoch is none.
    """
    if rows.inserts:
        return insert(rows.frame, columns, epoch)
    if rows.has_kinds:
        stamp = epoch_expr(epoch)
        names = [ident(f.name) for f in columns]
        return rows.frame.selectExpr(stamp, KIND, *names, *map(ident, rows.extra_columns))
    frame = rows.frame if rows.consolidated else cancel(rows.frame, columns, key)
    pairs = _pairs(frame, columns, key)
    return as_changes(pairs, columns, epoch)


def insert(rows: DataFrame, columns: Schema, epoch: int) -> DataFrame:
    """Return the changelog of rows whose keys are all new."""
    return rows.selectExpr(epoch_expr(epoch), f"'+I' AS {KIND}", *(ident(f.name) for f in columns))


def cancel(
    frame: DataFrame, columns: Schema, key: tuple[str, ...], others: Sequence[str] = ()
) -> DataFrame:
    """Add up equal rows; one shuffle by key serves this and the pairing.

    Rows that differ in the `others` alone are equal; those columns come behind.
    """
    from pyspark.sql import functions as F

    names = [ident(f.name) for f in columns]
    shuffled = frame.repartition(*map(ident, key)) if key else frame.coalesce(1)
    total = F.expr(f"CAST(sum({WEIGHT}) AS INT)").alias(WEIGHT)
    either = [F.expr(f"first({ident(name)})").alias(name) for name in others]
    return shuffled.groupBy(*names).agg(total, *either).where(f"{WEIGHT} <> 0")


def _pairs(frame: DataFrame, columns: Schema, key: tuple[str, ...]) -> DataFrame:
    """Return one row per key with its old row and its new row as structs."""
    from pyspark.sql import functions as F

    row = f"struct({', '.join(ident(f.name) for f in columns)})"
    sides = [
        F.expr(f"first({row}) FILTER (WHERE {WEIGHT} < 0)").alias(OLD_ROW),
        F.expr(f"first({row}) FILTER (WHERE {WEIGHT} > 0)").alias(NEW_ROW),
    ]
    return frame.groupBy(*map(ident, key)).agg(*sides).selectExpr(OLD_ROW, NEW_ROW)


def differ(columns: Schema, hidden: str = "") -> str:
    """Return the text of whether the sides of a pair differ, but for a `hidden` column.

    Spark compares no maps by itself.
    """
    if not hidden and not any(has_map(f.type) for f in columns):
        return f"NOT ({OLD_ROW} <=> {NEW_ROW})"
    seen, sides = [f for f in columns if f.name != hidden], []
    for side in (OLD_ROW, NEW_ROW):
        values = ", ".join(comparable(f"{side}.{ident(f.name)}", f.type) for f in seen)
        sides.append(f"CASE WHEN {side} IS NOT NULL THEN struct({values}) END")
    return f"NOT ({sides[0]} <=> {sides[1]})"


def comparable(sql: str, type_: SqlType) -> str:
    """Return the text of a value that Spark can compare: for a map its entries in order."""
    if type_.kind is Kind.MAP and type_.element is not None and not has_map(type_.element):
        return f"array_sort(map_entries({sql}))"
    return f"to_json(struct({sql} AS v))" if has_map(type_) else sql


def has_map(type_: SqlType) -> bool:
    """Tell whether a type is a map or holds one."""
    inner = [type_.element] if type_.element is not None else []
    inner += [f.type for f in type_.fields]
    return type_.kind is Kind.MAP or any(map(has_map, inner))


def as_changes(pairs: DataFrame, columns: Schema, epoch: int, apart: str = "") -> DataFrame:
    """Return the changelog rows of pairs; equal sides are no change."""
    names = [f"e.r.{ident(f.name)} AS {ident(f.name)}" for f in columns]
    exploded = pairs.where(differ(columns)).selectExpr(f"explode({pair(apart)}) AS e")
    return exploded.selectExpr(epoch_expr(epoch), f"e.{KIND} AS {KIND}", *names)


def rewritten(
    touched: DataFrame | None,
    changes: DataFrame,
    columns: Schema,
    key: tuple[str, ...],
    epoch: int,
    *,
    few: bool,
) -> DataFrame:
    """Return the rows of touched files after the changes; `few` tells that there are few."""
    names = [ident(f.name) for f in columns]
    stamp = epoch_expr(epoch)
    added = changes.where(f"{KIND} IN {ADDED}").selectExpr(*names, stamp)
    if touched is None or not key:
        return added
    gone = changes.where(f"{KIND} IN {GONE}")
    kept = keyed.anti_join(touched, gone, key, few=few)
    return kept.selectExpr(*names, EPOCH).unionAll(added)
