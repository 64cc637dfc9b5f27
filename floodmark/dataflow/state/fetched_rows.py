"""Rows of external tables: fetched by key, and stored before any operator reads them.

The fetched rows of an epoch are stored in a state table, so that a resumed attempt or a replay of
the epoch reads the same rows. Those of the next epoch replace them. The version of a versioned
table is logged before: an attempt that finds no stored rows fetches the same version again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH, ROW_ID
from floodmark.connectors.lookup.connector import Lookup, LookupKey, RowValues
from floodmark.dataflow.state.io import StateIO, replacement
from floodmark.scalar.types import BIGINT, Field, Schema
from floodmark.spark.types import nullable_ddl
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def as_columns(row: RowValues, columns: Schema, end: Sequence[Any] = ()) -> RowValues:
    """Return a fetched row and its number as an object's columns, hidden ones included."""
    *values, number = row
    hidden = [number if f.name == ROW_ID else None for f in columns[len(values) :]]
    return (*values, *hidden, *end)


@dataclass
class FetchedRows:
    """What one operator fetches of one object in one epoch; `kept` in a table of its own."""

    io: StateIO
    table: str
    lookup: Lookup
    columns: Schema
    kept: bool

    @property
    def _schema(self) -> Schema:
        return (*self.columns, Field(EPOCH, BIGINT, nullable=False))

    def fetch(self, keys: Callable[[], list[LookupKey]], by: Sequence[str]) -> DataFrame | None:
        """Return the rows of keys, written; None where there are none.

        If the epoch has recorded rows already, these are returned.
        """
        io = self.io
        if not self.kept:
            return io.read_scratch(self.table, self._fetch_and_write(keys, by), self.columns)
        done = io.commit_once(
            self.table,
            self._schema,
            lambda before: replacement(before, self._fetch_and_write(keys, by)),
        )
        return None if done is None else io.tables.epoch_rows(done, self.columns, io.writer.epoch)

    def _fetch_and_write(
        self, keys: Callable[[], list[LookupKey]], by: Sequence[str]
    ) -> tuple[DataFile, ...]:
        newest = self.lookup.pin().store.version
        version = self.io.pin(self.lookup.spec.name, newest)
        return self._write(self.lookup.pin(version).fetch(by, keys()))

    def _write(self, rows: Iterator[RowValues]) -> tuple[DataFile, ...]:
        writer, files = self.io.writer, tuple[DataFile, ...]()
        most = self.io.tables.limits.lookup_piece
        ddl = nullable_ddl(self._schema)
        while part := [
            as_columns(row, self.columns, (writer.epoch,)) for row in islice(rows, most)
        ]:
            frame = self.io.tables.spark.createDataFrame(part, schema=ddl)
            files = writer.write(self.table, frame)
        return files
