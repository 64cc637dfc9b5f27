"""Stages: the state tables of a plan's operators, and files for rows that are read twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from floodmark.changelog import ERROR, WEIGHT
from floodmark.connectors.lookup.connector import Lookup
from floodmark.dataflow.intake.source import DEAD, GOOD, WITHDRAWN
from floodmark.dataflow.state.arrangement import Arrangement
from floodmark.dataflow.state.due_changes import DueChanges
from floodmark.dataflow.state.fetched_rows import FetchedRows
from floodmark.dataflow.state.groups import AggregateState
from floodmark.dataflow.state.held_rows import HeldRows
from floodmark.dataflow.state.io import StateIO
from floodmark.dataflow.state.leaving_rows import ExpiredRows
from floodmark.dataflow.state.own import OwnGroups, OwnRows
from floodmark.dataflow.state.values import StoredValues
from floodmark.scalar.types import Schema
from floodmark.spark.columns import ROUTE
from floodmark.spark.rows import Rows, epoch_expr
from floodmark.spark.types import ident
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.table import DataFile
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.state import OwnTableState
from floodmark.tables.keyed_rows import KEY, KeyColumn
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class WrittenRows:
    """Rows that were written, how many, and the paths of their files."""

    rows: DataFrame
    count: int
    paths: tuple[str, ...]

    def key_column(self, name: str) -> KeyColumn:
        """Return the values of a column."""
        keys = self.rows.selectExpr(f"{ident(name)} AS {KEY}")
        return KeyColumn(keys, self.count, written=(FileColumn(name, self.paths),))


@dataclass
class ObjectStages(StateIO):
    """Where the operators of one plan put the rows that they keep, or need twice, in an epoch.

    `dead` are the files of dead letters, `withdrawn` those that are taken back, by table. A query
    has at most `plan_nodes` nodes where it can be split. State is written if the stages are
    `lasting`; otherwise each epoch starts from nothing.
    """

    dead: list[tuple[str, tuple[DataFile, ...]]] = field(default_factory=list)
    withdrawn: list[tuple[str, tuple[DataFile, ...]]] = field(default_factory=list)
    plan_nodes: int = field(kw_only=True)
    lasting: ClassVar[bool] = True
    _used_names: set[str] = field(default_factory=set, init=False, repr=False)

    def settle(self, name: str, rows: Rows, columns: Schema) -> DataFrame | None:
        """Write rows, put the failing ones aside, return the others read back.

        A name is used once: what is read back is all that lies under it.
        """
        if not rows.failing:
            written = self.write(name, rows.frame, columns)
            return None if written is None else written.rows
        scratch, names = self._use(name), [ident(f.name) for f in columns]
        stamp = epoch_expr(self.writer.epoch)
        dead = f"CASE WHEN {WEIGHT} < 0 THEN {WITHDRAWN} ELSE {DEAD} END"
        route = f"CASE WHEN {ERROR} IS NULL THEN {GOOD} ELSE {dead} END AS {ROUTE}"
        routed = rows.frame.selectExpr(*names, ERROR, stamp, route)
        files_of = self.writer.write_routed(scratch, routed)
        self.add_dead_letters(scratch, files_of.get(DEAD, ()), files_of.get(WITHDRAWN, ()))
        return self.read_scratch(scratch, files_of.get(GOOD, ()), columns)

    def write(self, name: str, rows: DataFrame, columns: Schema) -> WrittenRows | None:
        """Write rows that are read several times; None when there are none."""
        scratch = self._use(name)
        files = self.writer.write(scratch, rows.selectExpr(*(ident(f.name) for f in columns)))
        if not files:
            return None
        paths = tuple(self.writer.paths(scratch, files))
        return WrittenRows(self.tables.read_paths(paths, columns), rows_of(files), paths)

    def _use(self, name: str) -> str:
        """Return the table of a name; what is read back is all that lies under it."""
        assert name not in self._used_names, name
        self._used_names.add(name)
        return self.table(name)

    def add_dead_letters(
        self, table: str, files: tuple[DataFile, ...], withdrawn: tuple[DataFile, ...] = ()
    ) -> None:
        """Remember dead letters, and those taken back; they are committed with the object."""
        for written, into in ((files, self.dead), (withdrawn, self.withdrawn)):
            if written:
                into.append((table, written))

    @property
    def dead_rows(self) -> int:
        """Return how many rows the epoch has put aside so far."""
        return sum(rows_of(files) for _, files in self.dead)

    def own_state(self, op: StreamOperator[Any]) -> OwnGroups | None:
        """Return an aggregate's groups, where they live in the object's own table."""
        return OwnGroups(self, op.node) if op.own_table is OwnTableState.GROUPS else None

    def own_rows(self, op: StreamOperator[Any]) -> OwnRows | None:
        """Return the rows of an operator, where they are those of the object's own table."""
        return OwnRows(self, op.node) if op.own_table is OwnTableState.ROWS else None

    def aggregate_state(self, name: str, schema: Schema) -> AggregateState:
        """Return the state table of an aggregate."""
        return AggregateState(self, self.table(name), schema)

    def arrangement(self, name: str, columns: Schema, gone: ExpiredRows | None) -> Arrangement:
        """Return the input arrangement of an operator, without the rows that are not needed."""
        return Arrangement(self, self.table(name), columns, gone)

    def value_table(self, name: str, schema: Schema) -> StoredValues:
        """Return the table in which an operator stores values that it evaluates once."""
        return StoredValues(self, self.table(name), schema)

    def due_changes(self, name: str, schema: Schema) -> DueChanges:
        """Return the changes that a temporal filter has still to make."""
        return DueChanges(self, self.table(name), schema)

    def sort_buffer(self, name: str, schema: Schema, column: str) -> HeldRows:
        """Return the changes that a sort buffer holds."""
        return HeldRows(self, self.table(name), schema, column)

    def lookup_rows(self, name: str, lookup: Lookup, columns: Schema, *, kept: bool) -> FetchedRows:
        """Return what an operator fetches of a table that is kept elsewhere."""
        return FetchedRows(self, self.table(name), lookup, columns, kept)
