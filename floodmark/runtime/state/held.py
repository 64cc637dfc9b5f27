"""Changes of rows that wait for a watermark, at rest, clustered by its column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.catalog.types import Schema
from floodmark.spark.types import quoted
from floodmark.storage.pruning import prune
from floodmark.storage.table import DataFile, Handle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.runtime.stages import ObjectStages

ROWS_PER_FILE = 65_536
"""So many rows at most are written again because the first of them is released."""


@dataclass
class HeldFiles:
    """What one sort buffer holds, by the column whose watermark releases it.

    Files with something below the watermark are replaced by one of the rest, so that each row is
    read when it is released, and files of later rows are not looked at.
    """

    stages: ObjectStages
    table: str
    schema: Schema
    column: str

    def reached(self, bound: Any) -> DataFrame | None:
        """Return all held changes of files with some below a bound; None where there are none."""
        handle = self._before()
        if handle is None:
            return None
        return self.stages.tables.read(handle, self.schema, self._touched(handle, bound))

    def keep(self, changes: DataFrame | None, bound: Any, *, few: bool) -> None:
        """Record changes in place of those files."""
        done = self.stages.writer.recorded(self.table) or self._replaced(changes, bound, few=few)
        if done is not None:
            self.stages.versions[self.table] = done.version

    def _replaced(self, changes: DataFrame | None, bound: Any, *, few: bool) -> Handle | None:
        before = self._before()
        touched = self._touched(before, bound)
        if changes is None:
            return before
        rows = changes.selectExpr(*(quoted(f.name) for f in self.schema))
        column = quoted(self.column)
        ordered = rows.coalesce(1).sortWithinPartitions(column) if few else rows.sort(column)
        files = self.stages.writer.write(self.table, ordered, ROWS_PER_FILE)
        if not files and not touched:
            return before
        return self.stages.commit(self.table, self.schema, files, touched, before)

    def _before(self) -> Handle | None:
        return self.stages.handle_before(self.table)

    def _touched(self, handle: Handle | None, bound: Any) -> tuple[DataFile, ...]:
        if handle is None or bound is None:
            return ()
        return prune(handle, None, {self.column: (None, bound)})
