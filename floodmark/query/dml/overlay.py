"""A table as a transaction sees it: the stored rows merged with the transaction's own writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.materialize import NEW_ROW
from floodmark.dataflow.merge import conflicts, merge
from floodmark.query.dml.plan_dml import ORDINAL_FIELD, replaces
from floodmark.query.query import Reader
from floodmark.spark import keyed
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.types import ident
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def overlaid(
    reader: Reader, target: AnalysedObject, entries: Sequence[Mapping[str, Any]]
) -> Reader:
    """Return a reader that sees the rows of logged form `entries` in a table, merged into it."""
    base = reader.frame_of(target.key)
    return reader.with_rows(target.relation, _merge_entries(reader, target, entries, base))


def _merge_entries(
    reader: Reader,
    target: AnalysedObject,
    entries: Sequence[Mapping[str, Any]],
    base: Callable[[], DataFrame],
) -> Callable[[], DataFrame]:
    columns = layout.row_schema(target)
    names = [ident(f.name) for f in columns]
    paths = [path for entry in entries for path in entry["paths"]]

    def frame() -> DataFrame:
        stored = base().selectExpr(*names)
        rows = reader.tables.read_paths(paths, (*columns, WEIGHT_FIELD, ORDINAL_FIELD))
        if not target.relation.primary_key and target.append_only:
            return stored.unionAll(rows.selectExpr(*names))
        few = sum(int(entry["rows"]) for entry in entries) <= reader.tables.limits.broadcast_rows
        pairs = merge_rows(reader, target, stored, rows, few=few)
        kept = keyed.anti_join(stored, rows, layout.merge_key(target), few=few)
        alive = pairs.where(f"{NEW_ROW} IS NOT NULL")
        return kept.unionAll(alive.selectExpr(*(f"{NEW_ROW}.{name}" for name in names)))

    return frame


def merge_rows(
    reader: Reader, target: AnalysedObject, stored: DataFrame, rows: DataFrame, *, few: bool
) -> DataFrame:
    """Return, per key of logged rows, the stored row and the one that takes its place."""
    columns, key = layout.row_schema(target), layout.merge_key(target)
    operations = merge.gather_operations([merge.dml_operations(rows, columns)])
    if replaces(target):
        # What a statement writes is held as a whole, whoever held the row.
        chosen, passed = merge.last_per_key(operations, columns, key), tuple[str, ...]((NEW_ROW,))
    else:
        chosen = conflicts.list_operations(operations, columns, key)
        passed = (conflicts.OPERATIONS, *merge.CAME)
    pairs = merge.pairs(chosen, stored, columns, key, small=False, few=few, passed=passed)
    if replaces(target):
        return pairs
    assert target.declared is not None
    return conflicts.fold_operations(pairs, target.declared, columns, reader.now)
