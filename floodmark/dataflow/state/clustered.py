"""Stored waiting rows, clustered by the column for which they wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.state.io import StateIO
from floodmark.scalar.types import Schema
from floodmark.spark.types import ident
from floodmark.storage.files.pruning import prune
from floodmark.storage.table import DataFile, Handle
from floodmark.tables.tables import TableChange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class ClusteredRows:
    """A table of rows that wait until a bound reaches the value of a column.

    A file with a row that the bound has reached is replaced by a file of its other rows. So each
    row is read when it stops waiting, and files of later rows are not opened.
    """

    io: StateIO
    table: str
    schema: Schema
    column: str

    def passed_rows(self, bound: Any) -> DataFrame | None:
        """Return all rows of files with some that a bound has reached; None without a table."""
        handle = self.handle_before()
        if handle is None:
            return None
        return self.io.tables.read(handle, self.schema, self.passed_files(handle, bound))

    def handle_before(self) -> Handle | None:
        """Return the table as it was before the epoch."""
        return self.io.handle_before(self.table)

    def passed_files(self, handle: Handle | None, bound: Any) -> tuple[DataFile, ...]:
        """Return the files of the table with some rows that a bound has reached."""
        if handle is None or bound is None:
            return ()
        return prune(handle, None, {self.column: (None, bound)})

    def replace(self, rows: DataFrame | None, bound: Any, *, few: bool) -> Handle | None:
        """Commit rows in place of those files, once; return the table as it is then."""

        def build(before: Handle | None) -> TableChange | None:
            if rows is None:
                return None
            touched = self.passed_files(before, bound)
            files = self.io.writer.write(
                self.table, self._order(rows, few=few), self.io.tables.limits.state_file_rows
            )
            return TableChange(files, touched) if files or touched else None

        return self.io.commit_once(self.table, self.schema, build)

    def _order(self, rows: DataFrame, *, few: bool) -> DataFrame:
        rows = rows.selectExpr(*(ident(f.name) for f in self.schema))
        column = ident(self.column)
        return rows.coalesce(1).sortWithinPartitions(column) if few else rows.sort(column)
