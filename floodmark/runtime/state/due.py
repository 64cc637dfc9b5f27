"""Changes whose time has not come yet, at rest, clustered by that time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.analysis.state import DUE_AT
from floodmark.catalog.types import Schema
from floodmark.runtime.tables import rows_of
from floodmark.spark.types import quoted
from floodmark.storage.pruning import prune
from floodmark.storage.table import DataFile, Handle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.runtime.stages import ObjectStages

ROWS_PER_FILE = 65_536
"""So many rows at most are written again because the first of them is due."""


def first_of(file: DataFile) -> int:
    """Return the time of a file's first change; at once where nothing tells."""
    first = file.low.get(DUE_AT)
    return first if isinstance(first, int) else 0


@dataclass
class DueFiles:
    """What one temporal filter has still to change, by the time of the change.

    Files with something due are replaced by one of the rest. So each row is read when it is due,
    all that is kept is later than the epoch, and the statistics tell the next time exactly.
    """

    stages: ObjectStages
    table: str
    schema: Schema

    def due(self, now: int) -> DataFrame | None:
        """Return the changes whose time has come, without it; None where there are none."""
        rows = self._touched_rows(now)
        if rows is None:
            return None
        names = (quoted(f.name) for f in self.schema if f.name != DUE_AT)
        return rows.where(f"{DUE_AT} <= {now}L").selectExpr(*names)

    def due_rows(self, now: int) -> int:
        """Return how many rows are due, or more."""
        return rows_of(self._touched(self._before(), now))

    def keep(self, fresh: DataFrame | None, now: int, *, few: bool) -> None:
        """Record the fresh changes in place of those whose time has come."""
        done = self.stages.writer.recorded(self.table)
        before = self._before()
        if done is None:
            done = self._replaced(fresh, before, now, few=few)
        if done is not None:
            self.stages.versions[self.table] = done.version
            self.stages.fall_due([first_of(file) for file in done.files])

    def _replaced(
        self, fresh: DataFrame | None, before: Handle | None, now: int, *, few: bool
    ) -> Handle | None:
        touched = self._touched(before, now)
        rest = self._touched_rows(now)
        parts = [] if rest is None else [rest.where(f"{DUE_AT} > {now}L")]
        parts += [] if fresh is None else [fresh]
        if not parts:
            return before
        names = [quoted(f.name) for f in self.schema]
        rows = reduce(lambda a, b: a.unionAll(b), (part.selectExpr(*names) for part in parts))
        ordered = rows.coalesce(1).sortWithinPartitions(DUE_AT) if few else rows.sort(DUE_AT)
        files = self.stages.writer.write(self.table, ordered, ROWS_PER_FILE)
        if not files and not touched:
            return before
        return self.stages.commit(self.table, self.schema, files, touched, before)

    def _before(self) -> Handle | None:
        return self.stages.handle_before(self.table)

    def _touched(self, handle: Handle | None, now: int) -> tuple[DataFile, ...]:
        return () if handle is None else prune(handle, None, {DUE_AT: (None, now)})

    def _touched_rows(self, now: int) -> DataFrame | None:
        handle = self._before()
        if handle is None:
            return None
        return self.stages.tables.read(handle, self.schema, self._touched(handle, now))
