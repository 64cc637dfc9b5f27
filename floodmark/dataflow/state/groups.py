"""The groups of an aggregate in a state table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.dataflow.state.io import StateIO, replacement
from floodmark.scalar.types import Field, Schema
from floodmark.spark import keyed
from floodmark.spark.columns import ROUTE
from floodmark.spark.types import ident, spark_type
from floodmark.storage.files import rewrite
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.files.pruning import prune
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.operators.accumulator_columns import NEW, OLD, ROWS
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables.bounds import FileFilter
from floodmark.tables.keyed_rows import EVERY_ROW, Narrow
from floodmark.tables.keys import files_with_keys
from floodmark.tables.tables import TableChange, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


WrittenKeys = Callable[[], Mapping[str, Sequence[FileColumn]]]
"""Returns by column where the keys are written, of those columns of which somebody knows."""


@dataclass(frozen=True)
class GroupKeys:
    """The keys of groups: rows of the columns `names`, which lie within bounds.

    Where they are `written` is asked if there are many groups.
    """

    rows: DataFrame
    names: tuple[str, ...]
    within: Bounds
    written: WrittenKeys = dict

    def narrow(self, io: StateIO, columns: Schema, names: Mapping[str, str], groups: int) -> Narrow:
        """Return what leaves out groups of other keys, of so many that are stored.

        `names` are the names of the key's columns there, `columns` all that are stored.
        """
        if groups < io.tables.limits.search_rows:
            return EVERY_ROW
        written = {names[c]: places for c, places in self.written().items()}
        return Narrow(columns, written=written, scratch=io.scratch)


@dataclass
class AggregateState:
    """The groups of one aggregate at rest: key, row count, accumulators."""

    io: StateIO
    table: str
    schema: Schema
    values: bool = False

    def find_groups(self, keys: GroupKeys) -> DataFrame | None:
        """Return the stored groups of keys, and perhaps more; None when there are none.

        They are those of the epoch before.
        """
        handle = self.io.handle_before(self.table)
        if handle is None:
            return None
        files = prune(handle, None, keys.within)
        narrow = keys.narrow(self.io, self.schema, {c: c for c in keys.names}, rows_of(files))
        rows = narrow.load_rows(self.io.tables, handle, self.schema, files)
        held, limits = sum(file.size for file in files), self.io.tables.limits
        return (
            None if rows is None else keyed.prune_stored(rows, held, keys.rows, keys.names, limits)
        )

    def groups(self, keeps: FileFilter | None, *, after: bool) -> DataFrame | None:
        """Return the groups before or after the epoch, at least those of the files that matter."""
        handle = self.io.handle_before(self.table)
        if after and self.table in self.io.versions:
            handle = self.io.tables.open(self.table, self.io.versions[self.table])
        if handle is None:
            return None
        files = None if keeps is None else [file for file in handle.files if keeps(file)]
        return self.io.tables.read(handle, self.schema, files)

    def keep(self, transitions: DataFrame, schema: Schema, key: tuple[str, ...]) -> DataFrame:
        """Write the transitions, bring the state up to date, return them read back."""
        before = self.io.handle_before(self.table)
        if key and (before is None or not before.files):
            return self._write_first(transitions, schema, key)
        scratch = f"{self.table}_transitions"
        files = self.io.writer.write(scratch, transitions)
        if not files:
            self.io.stay(self.table)
            return transitions.where("FALSE")
        paths = self.io.writer.paths(scratch, files)
        read_back = self.io.tables.read_paths(paths, schema)

        limits = self.io.tables.limits

        def build(before: Handle | None) -> TableChange:
            touched = () if before is None else files_with_keys(before, files, paths, key, limits)
            if _only_new(files):
                touched = ()
            written = self._rewrite_here(files, paths, before, touched, key)
            if written is None:
                rows = self._merge(read_back, files, before, touched, key)
                written = self.io.writer.write(self.table, rows)
            return TableChange(written, touched)

        self.io.commit_once(self.table, self.schema, build)
        return read_back

    def _write_first(
        self, transitions: DataFrame, schema: Schema, key: tuple[str, ...]
    ) -> DataFrame:
        """Write the first groups; read back, they are the transitions."""

        def build(_: Handle | None) -> TableChange | None:
            written = self.io.writer.write(self.table, self._new_groups(transitions, key))
            return TableChange(written) if written else None

        done = self.io.commit_once(self.table, self.schema, build)
        groups = None if done is None else self.io.tables.read(done, self.schema)
        if groups is None:
            return transitions.where("FALSE")
        sides = (_side(field) for field in schema[len(key) :])
        return groups.selectExpr(*map(ident, key), *sides)

    def _rewrite_here(
        self,
        files: tuple[DataFile, ...],
        paths: Sequence[str],
        handle: Handle | None,
        touched: tuple[DataFile, ...],
        key: tuple[str, ...],
    ) -> tuple[DataFile, ...] | None:
        """Rewrite the touched files without Spark; None where they are not few, or not alike."""
        if not rewrite.is_small(touched, files, self.schema[: len(key)], self.io.tables.limits):
            return None
        values = [f.name for f in self.schema[len(key) :]]
        moved = rewrite.read_files(paths, [*key, OLD + ROWS, *(NEW + c for c in values)])
        if moved is None:
            return None
        there = moved.filter(moved.column(NEW + ROWS).is_valid())
        stored = moved.filter(moved.column(OLD + ROWS).is_valid())
        added = there.drop_columns([OLD + ROWS]).rename_columns([*key, *values])
        store, writer = self.io.tables.store, self.io.writer
        old = store.paths(handle, touched) if handle is not None and key else ()
        folder = writer.folder(self.table)
        gone, limits = stored.select(list(key)), self.io.tables.limits
        if not rewrite.replace_rows(old, gone, added, folder, limits):
            return None
        return writer.list_written(self.table, (*touched, *files))

    def _merge(
        self,
        transitions: DataFrame,
        files: tuple[DataFile, ...],
        handle: Handle | None,
        touched: tuple[DataFile, ...],
        key: tuple[str, ...],
    ) -> DataFrame:
        """Return the rows of the touched files after the transitions."""
        new = self._new_groups(transitions, key)
        if handle is None or not touched or not key:
            return new
        stored = self.io.tables.read(handle, self.schema, touched)
        if stored is None:
            return new
        few = rows_of(files) <= self.io.tables.limits.broadcast_rows
        return keyed.anti_join(stored, transitions, key, few=few).unionAll(new)

    def _new_groups(self, transitions: DataFrame, key: tuple[str, ...]) -> DataFrame:
        """Return the groups that are there after the transitions."""
        values = [f.name for f in self.schema[len(key) :]]
        columns = [*map(ident, key), *(f"{ident(NEW + c)} AS {ident(c)}" for c in values)]
        return transitions.where(f"{ident(NEW + ROWS)} IS NOT NULL").selectExpr(*columns)

    def release(
        self, transitions: DataFrame | None, schema: Schema, key: tuple[str, ...], closed: str
    ) -> DataFrame | None:
        """Bring the state up to date without the groups that `closed` selects; return those.

        The state holds open windows only, so it is rewritten whole, in one job.
        """
        handle = self.io.handle_before(self.table)
        stored = None if handle is None else self.io.tables.read(handle, self.schema)
        rows = stored
        if transitions is not None:
            scratch = f"{self.table}_transitions"
            files = self.io.writer.write(scratch, transitions)
            if files:
                read_back = self.io.tables.read_paths(self.io.writer.paths(scratch, files), schema)
                touched = () if handle is None else handle.files
                rows = self._merge(read_back, files, handle, touched, key)
        if rows is None:
            return None
        route = f"CASE WHEN {closed} THEN 1 ELSE 0 END AS {ROUTE}"
        names = [ident(f.name) for f in self.schema]
        routed = self.io.writer.write_routed(self.table, rows.selectExpr(*names, route))
        self.io.commit_once(
            self.table, self.schema, lambda before: replacement(before, routed.get(0, ()))
        )
        released = routed.get(1, ())
        return self.io.read_scratch(self.table, released, self.schema)


def _side(field: Field) -> str:
    """Return the text of a transition's column over the columns of a group that is new."""
    if field.name.startswith(OLD):
        return f"CAST(NULL AS {spark_type(field.type)}) AS {ident(field.name)}"
    return f"{ident(field.name.removeprefix(NEW))} AS {ident(field.name)}"


def _only_new(files: tuple[DataFile, ...]) -> bool:
    """Tell whether no touched group was there before."""
    column = OLD + ROWS
    return all(file.nulls.get(column) == file.rows for file in files)
