"""Where a plan's operators keep state, and put what they need twice to read it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.catalog.types import INT, Field, Schema
from floodmark.changelog import ERROR, WEIGHT
from floodmark.connectors.lookup import Lookup
from floodmark.plan import nodes as n
from floodmark.runtime import failpoints, layout
from floodmark.runtime.bounds import Bounds
from floodmark.runtime.cut import Cut
from floodmark.runtime.fetched import FetchedRows
from floodmark.runtime.keys import touched_files
from floodmark.runtime.operators import accumulators as acc
from floodmark.runtime.operators import keyed
from floodmark.runtime.operators.rows import Rows, never_negative, stamped
from floodmark.runtime.operators.source import DEAD, GOOD
from floodmark.runtime.operators.stored_values import Gone
from floodmark.runtime.operators.transitions import NEW, OLD
from floodmark.runtime.tables import ROUTE, Tables, Writer, rows_of
from floodmark.spark.types import quoted
from floodmark.storage.pruning import prune
from floodmark.storage.table import DataFile, Handle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BROADCAST_BYTES = 4 * 2**20
"""Tables below it are joined whole."""


@dataclass
class ObjectStages:
    """The state tables of one object in one epoch; `versions` is what they end at.

    `owner` is the object (or the sink that feeds it) whose plan runs; `home` is the object whose
    record and application id the tables belong to.
    """

    tables: Tables
    writer: Writer
    before: Cut
    home: AnalysedObject
    owner: AnalysedObject
    versions: dict[str, int] = field(default_factory=dict)
    dead: list[tuple[str, tuple[DataFile, ...]]] = field(default_factory=list)

    def settle(self, name: str, rows: Rows, columns: Schema) -> DataFrame | None:
        """Write rows, put the failing ones aside, return the others read back."""
        scratch = layout.state_table(self.owner, name)
        names = [quoted(f.name) for f in columns]
        if not rows.failing:
            files = self.writer.write(scratch, rows.frame.selectExpr(*names))
            return self.read_scratch(scratch, files, columns)
        stamp = stamped(self.writer.epoch)
        route = f"CASE WHEN {ERROR} IS NULL THEN {GOOD} ELSE {DEAD} END AS {ROUTE}"
        routed = rows.frame.selectExpr(*names, ERROR, stamp, route)
        files_of = self.writer.write_routed(scratch, routed)
        self.put_aside(scratch, files_of.get(DEAD, ()))
        return self.read_scratch(scratch, files_of.get(GOOD, ()), columns)

    def put_aside(self, table: str, files: tuple[DataFile, ...]) -> None:
        """Remember written dead letters; they are committed with the object."""
        if files:
            self.dead.append((table, files))

    def read_scratch(
        self, table: str, files: tuple[DataFile, ...], columns: Schema
    ) -> DataFrame | None:
        """Return written, uncommitted rows; None when there are none."""
        if not files:
            return None
        return self.tables.read_paths(self.writer.paths(table, files), columns)

    def own_state(self, node: n.Node) -> OwnGroups | None:
        """Return an aggregate's groups, where they live in the object's own table."""
        if self.owner is not self.home or layout.own_aggregate(self.home) != node:
            return None
        assert isinstance(node, n.Aggregate)
        return OwnGroups(self, node)

    def own_rows(self, node: n.TopN | n.OverWindow) -> OwnRows | None:
        """Return the rows of a node, where they are those of the object's own table."""
        if self.owner is not self.home or layout.own_node(self.home) != node:
            return None
        return OwnRows(self, node)

    def aggregate_state(self, name: str, schema: Schema) -> AggregateFiles:
        """Return the state table of an aggregate."""
        return AggregateFiles(self, layout.state_table(self.owner, name), schema)

    def arrangement(self, name: str, columns: Schema) -> ArrangedRows:
        """Return the input arrangement of an operator."""
        return ArrangedRows(self, layout.state_table(self.owner, name), columns)

    def stored_values(self, name: str, schema: Schema) -> ValuesFiles:
        """Return the table in which an operator stores what it evaluates once."""
        return ValuesFiles(self, layout.state_table(self.owner, name), schema)

    def fetched(self, name: str, lookup: Lookup, columns: Schema, *, kept: bool) -> FetchedRows:
        """Return what an operator fetches of a table that is kept elsewhere."""
        return FetchedRows(self, layout.state_table(self.owner, name), lookup, columns, kept)

    def handle_before(self, table: str) -> Handle | None:
        """Return a state table as of the epoch before."""
        version = self.before.version(self.home.key, table)
        return None if version is None else self.tables.at(table, version)

    def commit(
        self,
        table: str,
        schema: Schema,
        adds: tuple[DataFile, ...],
        removes: tuple[DataFile, ...],
        on: Handle | None,
    ) -> Handle:
        """Commit a state table for this epoch."""
        handle = self.writer.commit(table, schema, adds, removes, on)
        self.versions[table] = handle.version
        failpoints.reach("first_table_committed")
        return handle


@dataclass
class OwnGroups:
    """The groups of an aggregate as rows of the object itself."""

    stages: ObjectStages
    node: n.Aggregate

    def stored(self, keys: DataFrame, key: tuple[str, ...], within: Bounds) -> DataFrame | None:
        """Return the stored groups as of the epoch before; None when there are none."""
        home = self.stages.home
        handle = self.stages.handle_before(layout.current_table(home))
        if handle is None:
            return None
        names = self._names()
        files = prune(handle, None, {names[c]: found for c, found in within.items()})
        rows = self.stages.tables.read(handle, layout.current_schema(home), files)
        if rows is None:
            return None
        renamed = [f"{quoted(names[c])} AS {quoted(c)}" for c in self.node.group]
        groups = rows.selectExpr(*renamed, *(quoted(f.name) for f in layout.own_state(home)))
        return _among(groups, files, keys, key)

    def _names(self) -> dict[str, str]:
        return _own_names(self.stages.home, self.node)


def _own_names(home: AnalysedObject, node: n.Node) -> dict[str, str]:
    """Map a node's columns to those of the object, where the root only renames."""
    assert home.plan is not None
    projects = []
    step = home.plan.root
    while isinstance(step, n.Project):
        projects.append(step.passed)
        step = step.input
    names = {name: name for name in node.names}
    for passed in reversed(projects):
        names = {column: passed[name] for column, name in names.items()}
    return names


@dataclass
class OwnRows:
    """The rows of a node, which are those of the object itself."""

    stages: ObjectStages
    node: n.TopN | n.OverWindow

    def before(self, within: Bounds) -> DataFrame | None:
        """Return those of before the epoch, at least of the scopes within bounds."""
        home = self.stages.home
        handle = self.stages.handle_before(layout.current_table(home))
        if handle is None:
            return None
        names = _own_names(home, self.node)
        files = prune(handle, None, {names[c]: found for c, found in within.items()})
        rows = self.stages.tables.read(handle, layout.current_schema(home), files)
        if rows is None:
            return None
        return rows.selectExpr(*(f"{quoted(names[c])} AS {quoted(c)}" for c in self.node.names))


@dataclass
class AggregateFiles:
    """The groups of one aggregate at rest: key, row count, accumulators."""

    stages: ObjectStages
    table: str
    schema: Schema

    def stored(self, keys: DataFrame, key: tuple[str, ...], within: Bounds) -> DataFrame | None:
        """Return the stored groups as of the epoch before; None when there are none."""
        handle = self.stages.handle_before(self.table)
        if handle is None:
            return None
        files = prune(handle, None, within)
        rows = self.stages.tables.read(handle, self.schema, files)
        return None if rows is None else _among(rows, files, keys, key)

    def keep(self, transitions: DataFrame, schema: Schema, key: tuple[str, ...]) -> DataFrame:
        """Write the transitions, bring the state up to date, return them read back."""
        scratch = f"{self.table}_transitions"
        files = self.stages.writer.write(scratch, transitions)
        if not files:
            self._unchanged()
            return transitions.where("FALSE")
        paths = self.stages.writer.paths(scratch, files)
        read_back = self.stages.tables.read_paths(paths, schema)
        if self._recorded():
            return read_back
        handle = self.stages.handle_before(self.table)
        touched = () if handle is None else touched_files(handle, files, paths, key)
        if _only_new(files):
            touched = ()
        rows = self._after(read_back, files, handle, touched, key)
        written = self.stages.writer.write(self.table, rows)
        self.stages.commit(self.table, self.schema, written, touched, handle)
        return read_back

    def _recorded(self) -> bool:
        done = self.stages.writer.recorded(self.table)
        if done is None:
            return False
        self.stages.versions[self.table] = done.version
        return True

    def _unchanged(self) -> None:
        handle = self.stages.handle_before(self.table)
        if handle is not None:
            self.stages.versions[self.table] = handle.version

    def _after(
        self,
        transitions: DataFrame,
        files: tuple[DataFile, ...],
        handle: Handle | None,
        touched: tuple[DataFile, ...],
        key: tuple[str, ...],
    ) -> DataFrame:
        """Return the rows of the touched files after the transitions."""
        new = transitions.where(f"{quoted(NEW + acc.ROWS)} IS NOT NULL").selectExpr(
            *self._columns(key)
        )
        if handle is None or not touched or not key:
            return new
        stored = self.stages.tables.read(handle, self.schema, touched)
        if stored is None:
            return new
        few = rows_of(files) <= keyed.FEW
        return keyed.without(stored, transitions, key, few=few).unionAll(new)

    def _columns(self, key: tuple[str, ...]) -> list[str]:
        values = [f.name for f in self.schema[len(key) :]]
        return [*map(quoted, key), *(f"{quoted(NEW + c)} AS {quoted(c)}" for c in values)]

    def release(
        self, transitions: DataFrame | None, schema: Schema, key: tuple[str, ...], closed: str
    ) -> DataFrame | None:
        """Bring the state up to date without the groups that `closed` selects; return those.

        The state holds open windows only, so it is rewritten whole, in one job.
        """
        handle = self.stages.handle_before(self.table)
        stored = None if handle is None else self.stages.tables.read(handle, self.schema)
        rows = stored
        if transitions is not None:
            scratch = f"{self.table}_transitions"
            files = self.stages.writer.write(scratch, transitions)
            if files:
                read_back = self.stages.tables.read_paths(
                    self.stages.writer.paths(scratch, files), schema
                )
                touched = () if handle is None else handle.files
                rows = self._after(read_back, files, handle, touched, key)
        if rows is None:
            return None
        route = f"CASE WHEN {closed} THEN 1 ELSE 0 END AS {ROUTE}"
        names = [quoted(f.name) for f in self.schema]
        routed = self.stages.writer.write_routed(self.table, rows.selectExpr(*names, route))
        removes = () if handle is None else handle.files
        if not self._recorded():
            self.stages.commit(self.table, self.schema, routed.get(0, ()), removes, handle)
        released = routed.get(1, ())
        return self.stages.read_scratch(self.table, released, self.schema)


def _among(
    rows: DataFrame, files: Sequence[DataFile], keys: DataFrame, key: tuple[str, ...]
) -> DataFrame:
    """Return the rows of the keys where the table is too large to broadcast whole.

    Spark cannot broadcast the preserved side of the outer join that follows: it would shuffle
    the whole state.
    """
    if not key or sum(file.size for file in files) < BROADCAST_BYTES:
        return rows
    return keyed.among(rows, keys, key, few=False)


@dataclass
class ValuesFiles:
    """What one operator has evaluated and stored, by stream key."""

    stages: ObjectStages
    table: str
    schema: Schema

    @property
    def epoch(self) -> int:
        """Return the epoch that is being advanced."""
        return self.stages.writer.epoch

    def before(self, within: Bounds) -> DataFrame | None:
        """Return what was stored before, at least of the keys within bounds; None for nothing."""
        handle = self.stages.handle_before(self.table)
        if handle is None:
            return None
        return self.stages.tables.read(handle, self.schema, prune(handle, None, within))

    def once(self, fresh: Callable[[], DataFrame]) -> DataFrame | None:
        """Store the fresh rows in place of all others; return them, or what is recorded."""
        done = self.stages.writer.recorded(self.table)
        if done is None:
            handle = self.stages.handle_before(self.table)
            files = self.stages.writer.write(self.table, fresh())
            removes = () if handle is None else handle.files
            done = self.stages.commit(self.table, self.schema, files, removes, handle)
        self.stages.versions[self.table] = done.version
        return self.stages.tables.of_epoch(done, self.schema, self.epoch)

    def keep(self, fresh: Callable[[], DataFrame], gone: Gone, live: str) -> DataFrame | None:
        """Store the fresh rows in place of those of the gone keys; return them read back.

        `live` tells which of the others stay. What an earlier attempt recorded stands: values of
        users' functions differ from one evaluation to the next.
        """
        done = self.stages.writer.recorded(self.table)
        if done is None:
            handle = self.stages.handle_before(self.table)
            touched = () if handle is None else prune(handle, None, gone.within)
            names = [quoted(f.name) for f in self.schema]
            rows = fresh().selectExpr(*names)
            if handle is not None and touched:
                stored = self.stages.tables.read(handle, self.schema, touched)
                assert stored is not None
                others = keyed.without(stored.where(live), gone.rows, gone.key, few=gone.few)
                rows = others.selectExpr(*names).unionAll(rows)
            files = self.stages.writer.write(self.table, rows)
            done = self.stages.commit(self.table, self.schema, files, touched, handle)
        self.stages.versions[self.table] = done.version
        return self.stages.tables.of_epoch(done, self.schema, self.epoch)


def _only_new(files: tuple[DataFile, ...]) -> bool:
    """Tell whether no touched group was there before."""
    column = OLD + acc.ROWS
    return all(file.nulls.get(column) == file.rows for file in files)


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
