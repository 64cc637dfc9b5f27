"""The groups of an aggregate in a state table.

Where an epoch changes few groups in many files, it does not rewrite these. It appends a *run*: the
groups that it changed, with its number. A group's newest row counts; without a row count the group
is gone. Once the runs have more rows than the other files, all are written anew as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH
from floodmark.dataflow.state.io import StateIO, replacement
from floodmark.scalar.types import BIGINT, Field, Schema
from floodmark.spark import keyed
from floodmark.spark.columns import ROUTE
from floodmark.spark.rows import epoch_expr
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
from floodmark.tables.overlay import newest_rows, overlay, rewrite_is_dear, split_runs
from floodmark.tables.tables import TableChange, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_EPOCH_FIELD = Field(EPOCH, BIGINT)
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

    @property
    def _table_schema(self) -> Schema:
        """Return the columns of the table: those of a group, and the epoch of a run."""
        return (*(replace(f, nullable=True) for f in self.schema), _EPOCH_FIELD)

    @property
    def _key(self) -> tuple[str, ...]:
        names = [f.name for f in self.schema]
        return tuple(names[: names.index(ROWS)])

    def find_groups(self, keys: GroupKeys) -> DataFrame | None:
        """Return the stored groups of keys, and perhaps more; None when there are none.

        They are those of the epoch before.
        """
        handle = self.io.handle_before(self.table)
        if handle is None:
            return None
        files = prune(handle, None, keys.within)
        narrow = keys.narrow(self.io, self.schema, {c: c for c in keys.names}, rows_of(files))
        rows = self._load(handle, files, narrow)
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
        return self._load(handle, [f for f in handle.files if keeps is None or keeps(f)])

    def _load(
        self, handle: Handle, files: Sequence[DataFile], narrow: Narrow = EVERY_ROW
    ) -> DataFrame | None:
        """Return the groups in files of the table.

        Of a group of whose files some are left out, an older row may be there. They are left out
        where their keys are not among those that are asked for: nobody asks for that group.
        """
        settled, runs = split_runs(files)
        tables, key, names = self.io.tables, self._key, [f.name for f in self.schema]
        rows = narrow.load_rows(tables, handle, self.schema, settled)
        changed = narrow.load_rows(tables, handle, self._table_schema, runs)
        if changed is None:
            return rows
        newest = newest_rows(changed, names, key, f"{ROWS} IS NOT NULL")
        few = rows_of(runs) <= tables.limits.broadcast_rows
        return overlay(rows, changed, newest, names, key, few=few)

    def keep(self, transitions: DataFrame, schema: Schema) -> DataFrame:
        """Write the transitions, bring the state up to date, return them read back."""
        before, key = self.io.handle_before(self.table), self._key
        if key and (before is None or not before.files):
            return self._write_first(transitions, schema)
        scratch = f"{self.table}_transitions"
        files = self.io.writer.write(scratch, transitions)
        if not files:
            self.io.stay(self.table)
            return transitions.where("FALSE")
        paths = self.io.writer.paths(scratch, files)
        read_back = self.io.tables.read_paths(paths, schema)

        def build(before: Handle | None) -> TableChange:
            runs = () if before is None else split_runs(before.files)[1]
            touched = () if before is None or runs else self._find_files(before, files, paths)
            dear = rewrite_is_dear(touched, files, self.io.tables.limits)
            if before is not None and key and (runs or dear):
                return self._append(read_back, files, before)
            written = self._rewrite_here(files, paths, before, touched)
            if written is None:
                rows = self._merge(read_back, files, before, touched)
                written = self.io.writer.write(self.table, rows)
            return TableChange(written, touched)

        self.io.commit_once(self.table, self._table_schema, build)
        return read_back

    def _find_files(
        self, before: Handle, files: tuple[DataFile, ...], paths: Sequence[str]
    ) -> tuple[DataFile, ...]:
        """Return the files that changed groups lie in."""
        if _only_new(files):
            return ()
        return files_with_keys(before, files, paths, self._key, self.io.tables.limits)

    def _append(
        self, transitions: DataFrame, files: tuple[DataFile, ...], before: Handle
    ) -> TableChange:
        """Append a run with the changed groups; where the runs get long, write all groups anew."""
        settled, runs = split_runs(before.files)
        if rows_of(runs) + rows_of(files) > rows_of(settled):
            rows = self._merge(transitions, files, before, before.files)
            return TableChange(self.io.writer.write(self.table, rows), before.files)
        values = [f.name for f in self.schema[len(self._key) :]]
        named = (f"{ident(NEW + c)} AS {ident(c)}" for c in values)
        stamp = epoch_expr(self.io.writer.epoch)
        rows = transitions.selectExpr(*map(ident, self._key), *named, stamp)
        reshapes = all(f.name != EPOCH for f in before.schema)
        return TableChange(self.io.writer.write(self.table, rows), reshapes=reshapes)

    def _write_first(self, transitions: DataFrame, schema: Schema) -> DataFrame:
        """Write the first groups; read back, they are the transitions."""
        key = self._key

        def build(_: Handle | None) -> TableChange | None:
            written = self.io.writer.write(self.table, self._new_groups(transitions))
            return TableChange(written) if written else None

        done = self.io.commit_once(self.table, self._table_schema, build)
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
    ) -> tuple[DataFile, ...] | None:
        """Rewrite the touched files without Spark; None where they are not few, or not alike."""
        key = self._key
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
    ) -> DataFrame:
        """Return the rows of the touched files after the transitions."""
        new, key = self._new_groups(transitions), self._key
        if handle is None or not touched or not key:
            return new
        stored = self._load(handle, touched)
        if stored is None:
            return new
        few = rows_of(files) <= self.io.tables.limits.broadcast_rows
        return keyed.anti_join(stored, transitions, key, few=few).unionAll(new)

    def _new_groups(self, transitions: DataFrame) -> DataFrame:
        """Return the groups that are there after the transitions."""
        key = self._key
        values = [f.name for f in self.schema[len(key) :]]
        columns = [*map(ident, key), *(f"{ident(NEW + c)} AS {ident(c)}" for c in values)]
        return transitions.where(f"{ident(NEW + ROWS)} IS NOT NULL").selectExpr(*columns)

    def release(
        self, transitions: DataFrame | None, schema: Schema, closed: str
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
                rows = self._merge(read_back, files, handle, touched)
        if rows is None:
            return None
        route = f"CASE WHEN {closed} THEN 1 ELSE 0 END AS {ROUTE}"
        names = [ident(f.name) for f in self.schema]
        routed = self.io.writer.write_routed(self.table, rows.selectExpr(*names, route))
        self.io.commit_once(
            self.table, self._table_schema, lambda before: replacement(before, routed.get(0, ()))
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
