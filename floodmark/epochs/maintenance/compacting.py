"""Compaction: merges small files of a table in a commit that changes no data."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.limits import Limits
from floodmark.spark.types import ident
from floodmark.storage.files.compaction import plan_compaction
from floodmark.storage.table import DataFile, Handle
from floodmark.storage.warehouse import STATE
from floodmark.tables.overlay import split_runs
from floodmark.tables.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def compact(tables: Tables, table: str) -> int:
    """Merge a table's small files in one commit; return how many files were merged."""
    handle = tables.store.open(table)
    groups = groups_of(handle, tables.limits)
    if not groups:
        return 0
    adds_up = _adds_up(handle)
    merge = _sum_weights if adds_up else merge_files
    together = tuple(file for group in groups for file in merge(tables, handle, group))
    gone = tuple(file for group in groups for file in group)
    assert adds_up or sum(f.rows for f in together) == sum(f.rows for f in gone), table
    maintenance = {"maintenance": "compact"}
    tables.store.commit(
        handle, adds=together, removes=gone, metadata=maintenance, data_change=False
    )
    return len(gone)


def groups_of(handle: Handle, limits: Limits) -> list[list[DataFile]]:
    """Return groups of files of a table; each group is to be merged into one file.

    Runs of groups stay apart from the other files of their table: who asks for groups tells them
    apart. Otherwise all would be taken for runs.
    The operators that shorten the log of their input themselves do so before it is as long.
    """
    if _adds_up(handle) and len(handle.files) < 2 * limits.log_files:
        return []
    parts = split_runs(handle.files) if handle.table.startswith(STATE) else (handle.files,)
    return [group for part in parts for group in plan_compaction(part, limits)]


def _adds_up(handle: Handle) -> bool:
    """Tell whether a table is a log of changes with weights."""
    return any(f.name == WEIGHT for f in handle.schema) and handle.table.startswith(STATE)


def merge_files(
    tables: Tables, handle: Handle, group: Sequence[DataFile], only: str = "true"
) -> tuple[DataFile, ...]:
    """Write the rows of some files, those that fulfil a condition, as one file."""
    rows = tables.read(handle, handle.schema, group)
    assert rows is not None
    return write_files(tables, handle, rows.where(only).coalesce(1))


def _sum_weights(tables: Tables, handle: Handle, group: Sequence[DataFile]) -> tuple[DataFile, ...]:
    """Write the rows of some files of a log of weighted changes as one file, equal rows as one.

    Changes that cancel out are dropped, so that a changelog is no longer than its net result.
    """
    from pyspark.sql import functions as F

    rows = tables.read(handle, handle.schema, group)
    assert rows is not None
    names = [ident(field.name) for field in handle.schema if field.name != WEIGHT]
    total = F.expr(f"CAST(sum({WEIGHT}) AS INT)").alias(WEIGHT)
    left = rows.groupBy(*names).agg(total).where(f"{WEIGHT} <> 0")
    return write_files(tables, handle, left.selectExpr(*names, WEIGHT).coalesce(1))


def write_files(tables: Tables, handle: Handle, rows: DataFrame) -> tuple[DataFile, ...]:
    """Write rows for a commit of the maintenance; return the files."""
    attempt = secrets.randbelow(10**9) + 1
    folder = tables.store.stage(handle.table, handle.version, attempt)
    rows.write.mode("append").parquet(folder)
    return tables.store.list_stage(handle.table, handle.version, attempt)
