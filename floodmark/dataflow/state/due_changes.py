"""Stored future changes of temporal filters, clustered by the time at which they are due."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.dataflow.state.clustered import ClusteredRows
from floodmark.scalar.functions.intervals import LAST
from floodmark.spark.types import ident
from floodmark.storage.table import DataFile
from floodmark.stream.properties.state import DUE_AT
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def first_of(file: DataFile) -> int:
    """Return the time of a file's first change; at once where nothing tells."""
    first = file.low.get(DUE_AT)
    return first if isinstance(first, int) else 0


def last_of(file: DataFile) -> int:
    """Return the time of a file's last change; never where nothing tells."""
    last = file.high.get(DUE_AT)
    return last if isinstance(last, int) else LAST


@dataclass
class DueChanges(ClusteredRows):
    """What one temporal filter has still to change, by the time of the change.

    All that is kept is later than the epoch, and the statistics tell the next time exactly.
    """

    column: str = DUE_AT

    def take_due(self, now: int) -> DataFrame | None:
        """Return the changes whose time has come, without it; None where there are none."""
        rows = self.passed_rows(now)
        if rows is None:
            return None
        names = (ident(f.name) for f in self.schema if f.name != DUE_AT)
        return rows.where(f"{DUE_AT} <= {now}L").selectExpr(*names)

    def due_rows(self, now: int) -> int:
        """Return how many rows are due, or more."""
        return rows_of(self.passed_files(self.handle_before(), now))

    def keep(self, fresh: DataFrame | None, now: int, *, few: bool) -> None:
        """Record the fresh changes in place of those whose time has come."""
        done = self.replace(self._later(fresh, now), now, few=few)
        if done is not None:
            self.io.fall_due([first_of(file) for file in done.files])

    def _later(self, fresh: DataFrame | None, now: int) -> DataFrame | None:
        """Return the fresh changes, and those of files with something due that are not."""
        rest = self.passed_rows(now)
        parts = [] if rest is None else [rest.where(f"{DUE_AT} > {now}L")]
        parts += [] if fresh is None else [fresh]
        names = [ident(f.name) for f in self.schema]
        chosen = [part.selectExpr(*names) for part in parts]
        return reduce(lambda a, b: a.unionAll(b), chosen) if chosen else None
