"""RETURNING: expressions over the rows that a statement has written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.catalog.objects import ObjectKind, Relation
from floodmark.changelog import OWNERS, WEIGHT, ChangelogMode
from floodmark.dataflow.materialize import NEW_ROW, differ
from floodmark.dataflow.merge.column_owners import add_owners
from floodmark.dataflow.merge.merge import DML_ORDINAL
from floodmark.plan.build.row_changes import WRITTEN
from floodmark.query.dml.overlay import merge_rows
from floodmark.query.dml.plan_dml import PlannedDml, RowsEffect, replaces
from floodmark.query.query import Reader, rewrite_to_run
from floodmark.spark import keyed
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.round_trips import fetch
from floodmark.spark.types import ident
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.results import Result, table_result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def returning_result(
    plan: PlannedDml, target: AnalysedObject, reader: Reader, paths: Sequence[str]
) -> Result | None:
    """Return the columns and rows of RETURNING over written files; None without the clause.

    A DELETE returns the old rows, other statements return the new ones, in the order of writing. Of
    several inserted rows with one key, only the final one is returned. If a row meets a stored row,
    the merged row is returned, and none if the new row was ignored.
    """
    asked = plan.returning
    if asked is None:
        return None
    mode = ChangelogMode.APPEND_ONLY
    relation = Relation(WRITTEN, ObjectKind.VIEW, asked.written, (DML_ORDINAL,), mode)
    over = reader.with_rows(relation, lambda: _read_new_rows(plan, target, reader, paths))
    frame = over.frame(rewrite_to_run(asked.node)).orderBy(DML_ORDINAL)
    shown = asked.node.schema[:-1]
    return table_result(shown, fetch(frame.select(*(ident(f.name) for f in shown))))


def _read_new_rows(
    plan: PlannedDml, target: AnalysedObject, reader: Reader, paths: Sequence[str]
) -> DataFrame:
    assert plan.returning is not None
    columns = plan.returning.written
    if not paths:
        return reader.empty(columns)
    frame = reader.tables.read_paths(paths, (*columns, WEIGHT_FIELD))
    frame = frame.where(f"{WEIGHT} {'<' if plan.effect is RowsEffect.DELETE else '>'} 0")
    key = target.relation.primary_key
    if plan.effect is RowsEffect.INSERT and not replaces(target):
        return _merged_rows(target, reader, frame)
    if plan.effect is RowsEffect.INSERT and key:
        last = f"max({DML_ORDINAL}) OVER (PARTITION BY {', '.join(map(ident, key))}) AS __last"
        frame = frame.selectExpr("*", last).where(f"{DML_ORDINAL} = __last")
    return frame.selectExpr(*(ident(f.name) for f in columns))


def _merged_rows(target: AnalysedObject, reader: Reader, rows: DataFrame) -> DataFrame:
    """Return the rows that inserted ones have made where they met stored ones of their keys.

    A row that a conflict behaviour ignores makes none.
    """
    rows = add_owners(rows, target)
    names = [ident(f.name) for f in layout.row_schema(target)]
    key = target.relation.stream_key
    stored = reader.frame_of(target.key)().selectExpr(*names)
    pairs = merge_rows(reader, target, stored, rows, few=False)
    hidden = OWNERS if target.has_owners else ""
    differs = differ(layout.row_schema(target), hidden)
    changed = pairs.where(f"{NEW_ROW} IS NOT NULL AND {differs}")
    made = changed.selectExpr(*(f"{NEW_ROW}.{name} AS {name}" for name in names))
    first = rows.groupBy(*map(ident, key)).agg({DML_ORDINAL: "min"})
    return keyed.left_join(made, first, key, [f"`min({DML_ORDINAL})` AS {DML_ORDINAL}"]).selectExpr(
        *names, DML_ORDINAL
    )
