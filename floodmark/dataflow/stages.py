"""Where a plan's operators keep state, and put what they need twice to read it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from floodmark.changelog import ERROR, WEIGHT
from floodmark.connectors.lookup import Lookup
from floodmark.dataflow.operators.context import Unneeded
from floodmark.dataflow.operators.source import DEAD, GOOD, WITHDRAWN
from floodmark.dataflow.state.arranged import ArrangedRows
from floodmark.dataflow.state.due import DueFiles
from floodmark.dataflow.state.fetched import FetchedRows, Pin
from floodmark.dataflow.state.groups import AggregateFiles
from floodmark.dataflow.state.held import HeldFiles
from floodmark.dataflow.state.own import OwnGroups, OwnRows
from floodmark.dataflow.state.values import ValuesFiles
from floodmark.plan import nodes as n
from floodmark.scalar.functions.intervals import datetime_of
from floodmark.scalar.types import Schema
from floodmark.spark.columns import ROUTE
from floodmark.spark.rows import Rows, stamped
from floodmark.spark.types import quoted
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import failpoints, layout
from floodmark.tables.cut import Cut
from floodmark.tables.limits import PLAN_NODES
from floodmark.tables.tables import Tables, Writer, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class ObjectStages:
    """The state tables of one object in one epoch; `versions` is what they end at.

    `dues` are the times of the first changes that operators have still to make. `pin` settles at
    which version a table elsewhere is asked.

    `owner` is the object (or the sink that feeds it) whose plan runs; `home` is the object whose
    record and application id the tables belong to.
    """

    tables: Tables
    writer: Writer
    before: Cut
    home: AnalysedObject
    owner: AnalysedObject
    pin: Pin
    versions: dict[str, int] = field(default_factory=dict)
    dead: list[tuple[str, tuple[DataFile, ...]]] = field(default_factory=list)
    withdrawn: list[tuple[str, tuple[DataFile, ...]]] = field(default_factory=list)
    dues: list[int] = field(default_factory=list)
    plan_nodes: int = PLAN_NODES
    lasting: ClassVar[bool] = True

    def settle(self, name: str, rows: Rows, columns: Schema) -> DataFrame | None:
        """Write rows, put the failing ones aside, return the others read back."""
        scratch = layout.state_table(self.owner, name)
        names = [quoted(f.name) for f in columns]
        if not rows.failing:
            files = self.writer.write(scratch, rows.frame.selectExpr(*names))
            return self.read_scratch(scratch, files, columns)
        stamp = stamped(self.writer.epoch)
        dead = f"CASE WHEN {WEIGHT} < 0 THEN {WITHDRAWN} ELSE {DEAD} END"
        route = f"CASE WHEN {ERROR} IS NULL THEN {GOOD} ELSE {dead} END AS {ROUTE}"
        routed = rows.frame.selectExpr(*names, ERROR, stamp, route)
        files_of = self.writer.write_routed(scratch, routed)
        self.put_aside(scratch, files_of.get(DEAD, ()), files_of.get(WITHDRAWN, ()))
        return self.read_scratch(scratch, files_of.get(GOOD, ()), columns)

    def put_aside(
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

    def arrangement(self, name: str, columns: Schema, gone: Unneeded | None) -> ArrangedRows:
        """Return the input arrangement of an operator, without the rows that are not needed."""
        return ArrangedRows(self, layout.state_table(self.owner, name), columns, gone)

    def stored_values(self, name: str, schema: Schema) -> ValuesFiles:
        """Return the table in which an operator stores what it evaluates once."""
        return ValuesFiles(self, layout.state_table(self.owner, name), schema)

    def due_changes(self, name: str, schema: Schema) -> DueFiles:
        """Return the changes that a temporal filter has still to make."""
        return DueFiles(self, layout.state_table(self.owner, name), schema)

    def held_rows(self, name: str, schema: Schema, column: str) -> HeldFiles:
        """Return the changes that a sort buffer holds."""
        return HeldFiles(self, layout.state_table(self.owner, name), schema, column)

    def fall_due(self, times: Sequence[int]) -> None:
        """Remember times, in microseconds, at which an operator has something to change."""
        self.dues.extend(times)

    @property
    def due(self) -> datetime | None:
        """Return the first time at which an operator has something to change."""
        return datetime_of(min(self.dues), zoned=True) if self.dues else None

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
