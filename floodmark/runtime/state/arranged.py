"""The rows of an input that nothing else holds, as a log of weighted changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.catalog.types import INT, Field, Schema
from floodmark.changelog import WEIGHT
from floodmark.runtime.operators.rows import never_negative
from floodmark.spark.types import quoted
from floodmark.storage.table import Handle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.runtime.stages import ObjectStages


@dataclass
class ArrangedRows:
    """Input rows that no persisted object holds, as a log of weighted changes."""

    stages: ObjectStages
    table: str
    columns: Schema

    @property
    def _schema(self) -> Schema:
        return (*self.columns, Field(WEIGHT, INT, nullable=False))

    def before(self) -> DataFrame | None:
        """Return the rows before the epoch."""
        handle = self.stages.handle_before(self.table)
        log = None if handle is None else self.stages.tables.read(handle, self._schema)
        return None if log is None else self._consolidated([log])

    def after(self, changes: DataFrame | None) -> DataFrame | None:
        """Return the rows after the epoch's changes; records them."""
        handle = self.stages.handle_before(self.table)
        log = None if handle is None else self.stages.tables.read(handle, self._schema)
        names = [quoted(f.name) for f in self._schema]
        fresh = None if changes is None else changes.selectExpr(*names)
        parts = [part for part in (log, fresh) if part is not None]
        self._record(fresh, handle)
        return self._consolidated(parts) if parts else None

    def _record(self, changes: DataFrame | None, handle: Handle | None) -> None:
        done = self.stages.writer.recorded(self.table)
        if done is not None:
            self.stages.versions[self.table] = done.version
        elif changes is not None:
            files = self.stages.writer.write(self.table, changes)
            self.stages.commit(self.table, self._schema, files, (), handle)
        elif handle is not None:
            self.stages.versions[self.table] = handle.version

    def _consolidated(self, parts: list[DataFrame]) -> DataFrame:
        from pyspark.sql import functions as F

        rows = reduce(lambda a, b: a.unionAll(b), parts)
        names = [quoted(f.name) for f in self.columns]
        total = F.expr(f"sum({WEIGHT})").alias(WEIGHT)
        there = never_negative(WEIGHT, f"{WEIGHT} > 0")
        return rows.groupBy(*names).agg(total).where(there).selectExpr(*names)
