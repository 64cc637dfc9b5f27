"""The advance of one object by one epoch: its inputs, and the writing and commit of its changes.

The table that readers see is committed last, so its application transaction records the object's
epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from floodmark import failpoints
from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import EPOCH, ERROR, KIND, WEIGHT
from floodmark.connectors.base import Split
from floodmark.connectors.sinks.records import unknown
from floodmark.dataflow import materialize
from floodmark.dataflow.inputs import EpochInputs, ObjectSeed
from floodmark.dataflow.intake import source
from floodmark.dataflow.intake.defaults import delivery_seed
from floodmark.dataflow.keyed_reads import KeyedReads
from floodmark.dataflow.merge import merge
from floodmark.dataflow.merge.merge_output import SILENT
from floodmark.dataflow.stages import ObjectStages
from floodmark.dataflow.state.io import Pin
from floodmark.epochs.objects.apply_changelog import ObjectRows
from floodmark.epochs.objects.initial_fill import is_initial_fill
from floodmark.epochs.objects.watermarks import Marks
from floodmark.plan import nodes as n
from floodmark.plan.declaration import Declaration
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.scalar.types import Schema
from floodmark.spark.columns import ROUTE, WEIGHT_FIELD
from floodmark.spark.rows import ERROR_TYPE, Rows, epoch_expr
from floodmark.spark.types import ident
from floodmark.storage.files.pruning import prune
from floodmark.storage.table import DataFile
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables import layout
from floodmark.tables.bounds import columns_without_null
from floodmark.tables.current import current_at_cut
from floodmark.tables.cut import Cut
from floodmark.tables.keyed_rows import KeyColumn, Scratch, make_narrow
from floodmark.tables.tables import Tables, Writer, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class _ChangelogFiles:
    """The files of a changelog, and those of changes that nobody sees."""

    changes: tuple[DataFile, ...] = ()
    silent: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class AdvanceInput:
    """The input of one object's advance in an epoch.

    `pin` fixes the version at which an external table is looked up. `time_of` returns the time of
    an earlier epoch, `record_of` the id of its record. With `first`, the epochs from that one on
    are taken in at once. From `exhausted` sources the epoch takes all rows that they had.
    `corrected` has the numbers up to which corrections belong to the rows of refilled views.
    `previous` has, by key, the former definitions of views and sinks that continue with another
    query, and of sinks that are dropped with their rows. Without `writes_outside`, as in a replay,
    nothing is written outside the warehouse. No query has more than `plan_nodes`, where it can
    be split. `keyed_reads` are those that the epoch's objects share.
    """

    epoch: int
    now: datetime
    before: Cut
    after: Cut
    pipeline: Pipeline
    pin: Pin
    created: frozenset[str] = frozenset()
    splits: Mapping[str, Sequence[Split]] = field(default_factory=dict)
    dml: Sequence[Mapping[str, Any]] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seed: str = ""
    first: int | None = None
    corrected: Mapping[str, int] = field(default_factory=dict)
    exhausted: frozenset[str] = frozenset()
    time_of: Callable[[int], datetime] | None = None
    record_of: Callable[[int], str | None] = unknown
    previous: Mapping[str, AnalysedObject] = field(default_factory=dict)
    writes_outside: bool = True
    keyed_reads: KeyedReads = field(default_factory=KeyedReads)
    plan_nodes: int = field(kw_only=True)

    def inputs(self, tables: Tables, obj: AnalysedObject) -> EpochInputs:
        """Return the inputs of a plan of the object."""
        started = obj.key in self.created and obj.object.begins_whole
        fills = started or obj.refreshes
        return EpochInputs(
            tables,
            self.pipeline.objects,
            self.before,
            self.after,
            self.now,
            fills=fills or is_initial_fill(obj, self.pipeline, self.before, tables.store),
            origin=ObjectSeed(self.seed, obj.object.storage_key),
            first=self.first,
            time_of=self.time_of,
        )


@dataclass
class ObjectAdvance:
    """One advance of one object."""

    obj: AnalysedObject
    input: AdvanceInput
    tables: Tables
    writer: Writer

    @property
    def declaration(self) -> Declaration:
        """Return the declaration of a source or table."""
        assert self.obj.declared is not None
        return self.obj.declared

    @property
    def now(self) -> int:
        """Return the epoch's time in microseconds."""
        return micros_of(self.input.now)

    @property
    def default_seed(self) -> RowSeed:
        """Return the seed of volatile defaults of delivered rows."""
        return delivery_seed(self.input.seed, self.obj.object.storage_key)

    @property
    def marks(self) -> Marks:
        """Return the watermarks of a source or table as of the previous epoch."""
        before = self.input.before.records.get(self.obj.key)
        return Marks.from_record(self.declaration, before, self.input.now)

    def stages(self, owner: AnalysedObject) -> ObjectStages:
        """Return the state of the operators of the object's plan, or of a sink's."""
        advance_input = self.input
        return ObjectStages(
            self.tables,
            self.writer,
            advance_input.before,
            self.obj,
            owner,
            advance_input.pin,
            plan_nodes=advance_input.plan_nodes,
        )

    def external_versions(self) -> dict[str, int]:
        """Return at which versions the epoch asks tables elsewhere that the object looks up in."""
        owners = (self.obj, *(self.input.pipeline[key] for key in self.obj.feeders))
        plans = [owner.plan.root for owner in owners if owner.plan is not None]
        scans = [scan for root in plans for scan in n.scans(root) if scan.external]
        versions = {scan.object: self.input.pin(scan.object, None) for scan in scans}
        return {table: version for table, version in versions.items() if version is not None}

    def versions_before(self) -> dict[str, int]:
        """Return the versions of all tables of the object before the epoch."""
        record = self.input.before.records.get(self.obj.key)
        return dict(record.versions) if record is not None else {}

    def rows_of_inputs(self, names: Collection[str]) -> int:
        """Return how many rows the epoch changed in some objects."""
        before = self.input.before.records
        return sum(
            record.rows_out
            for key, record in self.input.after.records.items()
            if key in names and record is not before.get(key)
        )

    def dead_letters(self, written: Sequence[tuple[str, tuple[DataFile, ...]]]) -> dict[str, int]:
        """Commit written dead letters; return the version of their table."""
        if not written:
            return {}
        target = layout.dead_letter_table(self.obj)
        moved: tuple[DataFile, ...] = ()
        for table, files in written:
            moved = self.writer.move(table, files, target)
        handle = self.writer.commit(target, layout.DEAD_LETTER, moved)
        failpoints.reach("dead_letter_committed")
        return {target: handle.version}

    def find_commit(self, table: str) -> tuple[int, tuple[DataFile, ...]] | None:
        """Return the version and files that an earlier attempt of the epoch has committed.

        None if there are none, or if the files were merged with those of other epochs since.
        """
        handle = self.writer.find_handle(table)
        if handle is None:
            return None
        epoch = self.input.epoch
        files = self.tables.files_of_epochs(handle, epoch, epoch)
        alone = all(f.low.get(EPOCH) == f.high.get(EPOCH) == epoch for f in files)
        return (handle.version, files) if alone else None

    def append(self, rows: Rows, stages: ObjectStages) -> tuple[int, dict[str, int]]:
        """Add rows to an append-only view, and failing ones to its dead letters, in one job."""
        table = layout.current_table(self.obj)
        schema = layout.current_schema(self.obj)
        stamp = epoch_expr(self.input.epoch)
        names = [ident(f.name) for f in self.obj.relation.columns]
        if rows.failing:
            route = f"CASE WHEN {ERROR} IS NULL THEN 0 ELSE {source.DEAD} END AS {ROUTE}"
            frame = rows.frame.selectExpr(*names, stamp, WEIGHT, ERROR, route)
            files = self.writer.write_routed(table, frame)
            stages.add_dead_letters(table, files.get(source.DEAD, ()))
            good = files.get(source.GOOD, ())
        else:
            good = self.writer.write(table, rows.frame.selectExpr(*names, stamp))
        failpoints.reach("files_written")
        versions = self.dead_letters([*stages.dead, *stages.withdrawn])
        handle = self.writer.commit(table, schema, good)
        failpoints.reach("view_committed")
        return rows_of(good), {**versions, table: handle.version}

    def update(
        self, rows: Rows | None, stages: ObjectStages, within: Bounds
    ) -> tuple[int, dict[str, int]]:
        """Consolidate changes, write them, and rewrite the rows that they touch.

        The keys of the changes lie within the bounds.
        """
        relation = self.obj.relation
        settled: Rows | None = rows
        if rows is not None and rows.failing and rows.has_kinds and not rows.extra_columns:
            # Groups are read back from files: a second time costs less than another query.
            return self.apply(self._add_letters(rows), stages, routed=True)
        if rows is not None and rows.failing:
            columns = (*relation.columns, WEIGHT_FIELD)
            frame = stages.settle("root", rows, columns)
            settled = (
                None
                if frame is None
                else replace(rows, frame=frame, failing=False, has_kinds=False, extra_columns=())
            )
        changes = None
        if settled is not None and settled.replacing:
            changes = self._replace_rows(settled, within)
        elif settled is not None:
            changes = materialize.changelog(
                settled, relation.columns, relation.stream_key, self.input.epoch
            )
        return self.apply(changes, stages)

    def _add_letters(self, rows: Rows) -> DataFrame:
        """Return the changes of rows, and the dead letters among them, with their routes."""
        relation, epoch = self.obj.relation, self.input.epoch
        names = [ident(f.name) for f in relation.columns]
        accepted = rows.frame.where(f"{ERROR} IS NULL")
        good = replace(rows, frame=accepted, failing=False, has_kinds=False)
        changes = materialize.changelog(good, relation.columns, relation.stream_key, epoch)
        no_letter = (f"CAST(NULL AS INT) AS {WEIGHT}", f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}")
        dead = f"CASE WHEN {WEIGHT} < 0 THEN {source.WITHDRAWN} ELSE {source.DEAD} END AS {ROUTE}"
        refused = rows.frame.where(f"{ERROR} IS NOT NULL")
        return changes.selectExpr("*", *no_letter, f"{source.GOOD} AS {ROUTE}").unionAll(
            refused.selectExpr(
                epoch_expr(epoch), f"CAST(NULL AS STRING) AS {KIND}", *names, WEIGHT, ERROR, dead
            )
        )

    def _replace_rows(self, rows: Rows, within: Bounds) -> DataFrame:
        """Return the changes that put new rows in the place of the stored ones of their keys."""
        columns, key = self.obj.relation.columns, self.obj.relation.stream_key
        stored, small = self.rows_before(within)
        few = self.input.inputs(self.tables, self.obj).few
        chosen = merge.new_row_per_key(rows.frame, columns, key)
        pairs = merge.pairs(chosen, stored, columns, key, small=small, few=few)
        return materialize.as_changes(pairs, columns, self.input.epoch)

    def rows_before(
        self, within: Bounds, coming: int = 0, keys: Mapping[str, KeyColumn] | None = None
    ) -> tuple[DataFrame | None, bool]:
        """Return the rows before the epoch, at least those within bounds, and whether they are few.

        Includes rows that are not visible. They also count as few if they are not many more than
        the incoming ones. Of others those are left out that have none of the `keys`, few rows by
        column.
        """
        rows = current_at_cut(self.tables.store, self.obj, self.input.before)
        if rows is None:
            return None, True
        files = prune(rows.base, None, within)
        limits = self.tables.limits
        few = rows.bytes_of(files) < limits.whole_bytes
        few = few or rows_of((*files, *rows.layer_files)) <= limits.whole_factor * coming
        if few or not keys:
            return rows.all_rows(self.tables, files), few
        schema, held = layout.current_schema(self.obj), (*rows.base.files, *rows.layer_files)
        filled = columns_without_null(held, keys)
        scratch = Scratch(self.writer, layout.state_table(self.obj, "found"))
        narrow = make_narrow(schema, keys, filled, scratch)
        return rows.all_rows(self.tables, files, narrow=narrow), few

    def apply(
        self,
        changes: DataFrame | None,
        stages: ObjectStages,
        *,
        routed: bool = False,
        aside: Callable[[], Mapping[str, int]] = dict,
    ) -> tuple[int, dict[str, int]]:
        """Commit changes to the changes table, then the current rows after them.

        Among `routed` changes there are dead letters and renewed rows, told by their route. What is
        put `aside` otherwise is committed with the dead letters.
        """
        table = layout.changes_table(self.obj)
        written = _ChangelogFiles()
        if changes is not None and routed:
            files = self.writer.write_routed(table, changes)
            letters = (files.get(source.DEAD, ()), files.get(source.WITHDRAWN, ()))
            stages.add_dead_letters(table, *letters)
            written = _ChangelogFiles(files.get(source.GOOD, ()), files.get(SILENT, ()))
        elif changes is not None:
            written = self._write_changes(table, changes)
        failpoints.reach("files_written")
        versions = {**aside(), **self.dead_letters([*stages.dead, *stages.withdrawn])}
        failpoints.reach("state_committed")
        if self.obj.append_only:
            handle = self.writer.commit(
                layout.current_table(self.obj), layout.current_schema(self.obj)
            )
            return 0, {**versions, handle.table: handle.version}
        handle = self.writer.commit(table, layout.changes_schema(self.obj), written.changes)
        failpoints.reach("first_table_committed")
        followed = ObjectRows(
            self.obj, self.input.before, self.tables, self.writer
        ).apply_changelog(table, (*written.changes, *written.silent))
        failpoints.reach(
            "sink_committed" if self.obj.kind is ObjectKind.TABLE else "view_committed"
        )
        return rows_of(written.changes), {**versions, table: handle.version, **followed}

    def _write_changes(self, table: str, changes: DataFrame) -> _ChangelogFiles:
        """Write a changelog; changes of accumulators alone go to files of their own."""
        if not layout.own_state(self.obj):
            return _ChangelogFiles(self.writer.write(table, changes))
        silent = f"CASE WHEN {KIND} IN ('-S', '+S') THEN 1 ELSE 0 END AS {ROUTE}"
        files = self.writer.write_routed(table, changes.selectExpr("*", silent))
        return _ChangelogFiles(files.get(0, ()), files.get(1, ()))


@dataclass
class TablePart:
    """A part of a table's advance in an epoch, with shortcuts to common values."""

    advance: ObjectAdvance

    @property
    def obj(self) -> AnalysedObject:
        """Return the table."""
        return self.advance.obj

    @property
    def columns(self) -> Schema:
        """Return the table's columns, hidden ones included."""
        return layout.row_schema(self.advance.obj)

    @property
    def declaration(self) -> Declaration:
        """Return the declaration of the table's CREATE statement."""
        return self.advance.declaration
