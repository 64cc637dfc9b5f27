"""The rows of a table that have keys, of which there are few: all others are left out first.

Where the keys are in files that the epoch has written, they are looked for in this process: in
files of up to `search_bytes` their rows are found here, of more the files that have any. Spark
would read all columns of all rows for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from floodmark.price import Price, charge
from floodmark.scalar.types import Schema
from floodmark.spark.keyed import equals
from floodmark.spark.types import ident
from floodmark.storage.files import key_search
from floodmark.storage.files.imported_files import is_delivered
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.files.rewrite import compares_alike, new_part
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
        return new_part(self.writer.folder(self.table))


@dataclass(frozen=True)
class Narrow:
    """Leaves out rows of a table without keys, each by its own values; `columns` are the table's.

    Spark joins the keys in `frames`, by column. Where those of all these columns are `written`,
    rows are searched for in this process if there is a `scratch`. The columns `filled` are NULL in
    no row.
    """

    columns: Schema = ()
    frames: Mapping[str, DataFrame] = field(default_factory=dict)
    written: Mapping[str, Sequence[FileColumn]] = field(default_factory=dict)
    filled: Collection[str] = ()
    scratch: Scratch | None = None

    def rows(self, rows: DataFrame) -> DataFrame:
        """Return the rows that have the keys."""
        return rows_of_keys(rows, self.columns, self.frames, self.filled) if self.frames else rows

    def select(self, names: Collection[str]) -> Narrow:
        """Return what leaves out rows by some columns alone."""
        frames = {c: frame for c, frame in self.frames.items() if c in names}
        written = {c: places for c, places in self.written.items() if c in names}
        return replace(self, frames=frames, written=written)

    def load_rows(
        self, tables: Tables, handle: Handle, columns: Schema, files: Sequence[DataFile] | None
    ) -> DataFrame | None:
        """Return columns of rows of a table, or of some of its files, that have the keys.

        None when there are none.
        """
        import pyarrow as pa

        chosen = handle.files if files is None else files
        if self.written and chosen:
            # What cannot be read or written here is left to Spark, which tells why.
            with suppress(OSError, pa.ArrowInvalid):
                values = self._read_keys(handle)
                target = self._search(tables, handle, columns, chosen, values)
                if target is not None:
                    return tables.read_paths([target], columns) if target else None
                chosen = _choose_files(tables, handle, chosen, values)
        rows = tables.read(handle, columns, chosen)
        return None if rows is None else self.rows(rows)

    def _search(
        self,
        tables: Tables,
        handle: Handle,
        columns: Schema,
        files: Sequence[DataFile],
        values: Mapping[str, Any],
    ) -> str | None:
        """Write the rows of files that have the values; return the path, empty where none have.

        None where that is left to Spark.
        """
        size = sum(file.size for file in files)
        if self.scratch is None or size > tables.limits.search_bytes:
            return None
        if not values or self.frames.keys() - values or any(map(is_delivered, files)):
            return None
        paths, target = tables.store.paths(handle, files), self.scratch.new_file()
        names = [f.name for f in columns]
        rows = key_search.copy_rows(paths, names, values, target, tables.limits)
        if rows is None:
            return None
        charge(Price(bytes_read=size, bytes_written=file_size(target) if rows else 0))
        return target if rows else ""

    def _read_keys(self, handle: Handle) -> dict[str, Any]:
        """Return the keys that are in files, by column, where they equal here as in Spark."""
        alike = {f.name for f in handle.schema if compares_alike((f,))}
        read = {c: key_search.distinct_values(v) for c, v in self.written.items() if c in alike}
        return {c: values for c, values in read.items() if values is not None}


def make_narrow(
    columns: Schema,
    keys: Mapping[str, KeyColumn],
    filled: Collection[str] = (),
    scratch: Scratch | None = None,
) -> Narrow:
    """Return what leaves out the rows without keys, all of which there are: see `Narrow`."""
    frames = {c: of.frame for c, of in keys.items() if of.frame is not None}
    written = {c: of.written for c, of in keys.items() if of.written is not None}
    return Narrow(columns, frames, written, filled, scratch)


EVERY_ROW = Narrow()
"""Leaves no row out."""


def _choose_files(
    tables: Tables, handle: Handle, files: Sequence[DataFile], values: Mapping[str, Any]
) -> Sequence[DataFile]:
    """Return the files that may hold the values."""
    size = sum(file.size for file in files)
    if not values or size > tables.limits.search_files_bytes:
        return files
    paths = tables.store.paths(handle, files)
    holds = [key_search.holds_any(path, values, tables.limits) for path in paths]
    return [file for file, held in zip(files, holds, strict=True) if held]


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
