"""Rows of tables that are kept elsewhere: fetched by key, and written before anything reads them.

What an epoch has fetched is recorded in a state table of its own, so that whoever finishes the
epoch, or replays it, has the same rows. The next epoch's take their place. At which version a table
that has versions is asked is logged before: who finds nothing recorded fetches the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH, ROW_ID
from floodmark.connectors.lookup import Key, Lookup, Values
from floodmark.scalar.types import BIGINT, Field, Schema
from floodmark.spark.types import nullable_ddl
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.dataflow.stages import ObjectStages

Pin = Callable[[str, int | None], int | None]
"""Returns at which version an epoch asks a table, given its newest; without one, if it has."""
_AT_ONCE = 50_000
"""So many fetched rows are in memory."""


def as_columns(row: Values, columns: Schema, end: Sequence[Any] = ()) -> Values:
    """Return a fetched row and its number as an object's columns, hidden ones included."""
    *values, number = row
    hidden = [number if f.name == ROW_ID else None for f in columns[len(values) :]]
    return (*values, *hidden, *end)


@dataclass
class FetchedRows:
    """What one operator fetches of one object in one epoch; `kept` in a table of its own."""

    stages: ObjectStages
    table: str
    lookup: Lookup
    columns: Schema
    kept: bool

    @property
    def _schema(self) -> Schema:
        return (*self.columns, Field(EPOCH, BIGINT, nullable=False))

    def of(self, keys: Callable[[], list[Key]], by: Sequence[str]) -> DataFrame | None:
        """Return the rows of keys, written; None where there are none.

        An epoch that is recorded keeps what it recorded.
        """
        stages, writer = self.stages, self.stages.writer
        done = writer.recorded(self.table) if self.kept else None
        if done is None:
            newest = self.lookup.pinned().store.version
            version = stages.pin(self.lookup.spec.name, newest)
            files = self._written(self.lookup.pinned(version).fetch(by, keys()))
            if not self.kept:
                return stages.read_scratch(self.table, files, self.columns)
            before = stages.handle_before(self.table)
            gone = () if before is None else before.files
            done = stages.commit(self.table, self._schema, files, gone, before)
        stages.versions[self.table] = done.version
        return stages.tables.of_epoch(done, self.columns, writer.epoch)

    def _written(self, rows: Iterator[Values]) -> tuple[DataFile, ...]:
        writer, files = self.stages.writer, tuple[DataFile, ...]()
        ddl = nullable_ddl(self._schema)
        while part := [
            as_columns(row, self.columns, (writer.epoch,)) for row in islice(rows, _AT_ONCE)
        ]:
            frame = self.stages.tables.spark.createDataFrame(part, schema=ddl)
            files = writer.write(self.table, frame)
        return files
