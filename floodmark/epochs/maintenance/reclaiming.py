"""Deletion of rows that no reader and no later epoch sees.

Their period is over, the TTL of their table has discarded them, or they are below its watermark
WITH TTL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floodmark.epochs.maintenance.compacting import merge_files
from floodmark.plan.declaration import UPPER
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.types import BIGINT, SqlType
from floodmark.spark.literals import literal
from floodmark.spark.types import ident
from floodmark.storage.files.imported_files import is_delivered
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.plain_files import read_parquet
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables import layout
from floodmark.tables.cutoff import find_cutoff
from floodmark.tables.tables import Tables, rows_of


@dataclass(frozen=True)
class ExpiryBound:
    """The expired rows of a table: those whose column is up to a value, or `below` it."""

    column: str
    value: Any
    type: SqlType = BIGINT
    below: bool = False

    def is_over(self, value: Any) -> bool:
        """Tell whether a row with this value is expired."""
        return bool(value < self.value if self.below else value <= self.value)

    @property
    def lasts(self) -> str:
        """Return the condition of the rows that are not expired."""
        test = "<" if self.below else "<="
        over = f"{ident(self.column)} {test} {literal(self.value, self.type)}"
        return f"NOT coalesce({over}, FALSE)"


def ending(pipeline: Pipeline, records: Mapping[str, ObjectRecord]) -> dict[str, ExpiryBound]:
    """Return the expired rows, by table, of objects whose rows end without a change."""
    found = ((pipeline[key], r) for key, r in records.items() if key in pipeline.objects)
    ends = {layout.current_table(obj): _end_of(obj, record) for obj, record in found}
    return {table: end for table, end in ends.items() if end is not None}


def _end_of(obj: AnalysedObject, record: ObjectRecord) -> ExpiryBound | None:
    declared = obj.declared
    if record.as_of is not None and any(field.name == UPPER for field in obj.period):
        return ExpiryBound(UPPER, micros_of(record.as_of))
    if declared is None or not declared.drops_silently:
        return None
    if declared.ttl_column is not None:
        bound = record.watermarks.get(declared.ttl_column)
        types = {f.name: f.type for f in obj.relation.columns}
        type_ = types[declared.ttl_column]
        return None if bound is None else ExpiryBound(declared.ttl_column, bound, type_, below=True)
    cutoff = find_cutoff(obj, record)
    return None if cutoff is None else ExpiryBound(cutoff.column, cutoff.value, cutoff.type)


def reclaim(tables: Tables, table: str, end: ExpiryBound) -> int:
    """Delete expired rows of a table; return how many files were replaced or dropped.

    Whole files are dropped if possible. The commit is marked as changing no data, because readers
    of the changes have already seen these rows end, or never do. Older versions keep the rows.
    """
    handle = tables.store.open(table)
    gone, mixed = list[DataFile](), list[DataFile]()
    for file in handle.files:
        low, high = file.low.get(end.column), file.high.get(end.column)
        whole = file.nulls.get(end.column, 0) == 0
        if high is not None and whole and end.is_over(high):
            gone.append(file)
        elif low is not None and end.is_over(low):
            mixed.append(file)
    rewritten = [file for file in mixed if _is_worth_it(tables, handle, file, end)]
    if not (gone or rewritten):
        return 0
    kept = merge_files(tables, handle, rewritten, end.lasts) if rewritten else ()
    tables.store.commit(
        handle,
        adds=kept,
        removes=[*gone, *rewritten],
        metadata={"maintenance": "expire"},
        data_change=False,
    )
    return len(gone) + len(rewritten)


def _is_worth_it(tables: Tables, handle: Handle, file: DataFile, end: ExpiryBound) -> bool:
    """Tell whether enough rows of a file are over; of one that was taken over, none are alone."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if is_delivered(file):
        return False
    (path,) = tables.store.paths(handle, [file])
    column = read_parquet(path, [end.column]).column(0)
    compare = pc.less if end.below else pc.less_equal
    ended = pc.sum(compare(column, pa.scalar(end.value, type=column.type))).as_py() or 0
    return bool(100 * ended >= tables.limits.reclaim_percent * rows_of([file]))
