"""The rows of a table that have keys, of which there are few: all others are left out first.

Where the keys are in files that the epoch has written, they are looked for in this process: in
files of up to `search_bytes` their rows are found here, of more the files that have any. Spark
reads all columns of all rows for that, which takes some five times the processor time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from floodmark.price import Price, charge
from floodmark.scalar.types import Schema
from floodmark.spark.keyed import equals
from floodmark.spark.types import ident
from floodmark.storage.files import key_search
from floodmark.storage.files.imported_files import is_delivered
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.files.rewrite import compares_alike
from floodmark.storage.plain_files import file_size
from floodmark.storage.table import DataFile, Handle
from floodmark.tables.tables import Tables, Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY = "__key"
"""The column of keys."""


@dataclass(frozen=True)
class KeyColumn:
    """Values of keys, at most so many rows, and where they lie; `frame` is None where none are.

    `written` are the columns of files that have them, and perhaps some more; None where nobody
    knows.
    """

    frame: DataFrame | None = None
    rows: int = 0
    ends: tuple[Any, Any] | None = None
    written: tuple[FileColumn, ...] | None = None


@dataclass(frozen=True)
class Scratch:
    """Where rows that were found are written: files of one attempt, which nobody commits."""

    writer: Writer
    table: str

    def new_file(self) -> str:
        """Return the path of a file that is not there yet."""
        return self.writer.scratch_file(self.table)


class _Result(NamedTuple):
    """A file with rows, and how many; it is not there where none are."""

    path: str
    rows: int


@dataclass(frozen=True)
class Narrow:
    """Leaves out rows of a table without keys, each by its own values; `columns` are the table's.

    Its columns `filled` are NULL in no row. Rows are looked for here where there is a `scratch`.
    """

    columns: Schema = ()
    keys: Mapping[str, KeyColumn] = field(default_factory=dict)
    filled: Collection[str] = ()
    scratch: Scratch | None = None

    def rows(self, rows: DataFrame) -> DataFrame:
        """Return the rows that have the keys."""
        frames = {c: values.frame for c, values in self.keys.items() if values.frame is not None}
        return rows_of_keys(rows, self.columns, frames, self.filled) if frames else rows

    def select(self, names: Collection[str]) -> Narrow:
        """Return what leaves out rows by some columns alone."""
        return replace(self, keys={c: v for c, v in self.keys.items() if c in names})

    def stored_rows(
        self, tables: Tables, handle: Handle, columns: Schema, files: Sequence[DataFile] | None
    ) -> DataFrame | None:
        """Return columns of rows of a table, or of some of its files, that have the keys.

        None when there are none.
        """
        import pyarrow as pa

        chosen = handle.files if files is None else files
        if self.keys and chosen:
            # What cannot be read or written here is left to Spark, which tells why.
            with suppress(OSError, pa.ArrowInvalid):
                values = self._read_keys(handle)
                result = self._search(tables, handle, columns, chosen, values)
                if result is not None:
                    return tables.read_paths([result.path], columns) if result.rows else None
                chosen = self._choose_files(tables, handle, chosen, values)
        rows = tables.read(handle, columns, chosen)
        return None if rows is None else self.rows(rows)

    def _choose_files(
        self,
        tables: Tables,
        handle: Handle,
        files: Sequence[DataFile],
        values: Mapping[str, Any],
    ) -> Sequence[DataFile]:
        """Return the files that may hold the values."""
        size = sum(file.size for file in files)
        if not values or size > tables.limits.search_files_bytes:
            return files
        paths = tables.store.paths(handle, files)
        holds = [key_search.holds_any(path, values, tables.limits) for path in paths]
        return [file for file, held in zip(files, holds, strict=True) if held]

    def _search(
        self,
        tables: Tables,
        handle: Handle,
        columns: Schema,
        files: Sequence[DataFile],
        values: Mapping[str, Any],
    ) -> _Result | None:
        """Write the rows of files that have the values; None where that is left to Spark."""
        few = sum(file.size for file in files) <= tables.limits.search_bytes
        few = few and len(values) == len(self.keys) and not any(map(is_delivered, files))
        if not few or self.scratch is None:
            return None
        paths, target = tables.store.paths(handle, files), self.scratch.new_file()
        names = [f.name for f in columns]
        rows = key_search.copy_rows(paths, names, values, target, tables.limits)
        if rows is None:
            return None
        size = file_size(target) if rows else 0
        charge(Price(bytes_read=sum(file.size for file in files), bytes_written=size))
        return _Result(target, rows)

    def _read_keys(self, handle: Handle) -> dict[str, Any]:
        """Return the keys that are in files, by column, where they equal here as in Spark."""
        alike = {f.name for f in handle.schema if compares_alike((f,))}
        places = {c: v.written for c, v in self.keys.items() if c in alike and v.written}
        read = {c: key_search.distinct_values(of) for c, of in places.items() if of}
        return {c: values for c, values in read.items() if values is not None}


EVERY_ROW = Narrow()
"""Leaves no row out."""


def rows_of_keys(
    rows: DataFrame,
    columns: Schema,
    keys: Mapping[str, DataFrame],
    filled: Collection[str] = (),
) -> DataFrame:
    """Return the rows that have the keys; `columns` are those of the rows.

    Those `filled` are NULL in none of the rows.
    """
    from pyspark.sql import functions as F

    for name in (f.name for f in columns if f.name in keys):
        met = F.expr(f"{ident(name)} {equals(name, filled)} {KEY}")
        rows = rows.join(F.broadcast(keys[name]), met, "left_semi")
    return rows
