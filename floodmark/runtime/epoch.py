"""One object, one epoch: compute its changes, write, commit; idempotent by (object, epoch).

What a reader of the object sees is committed last, so that its table's application transaction
says how far the object has come.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from floodmark.analysis.pipeline import ORIGIN, AnalysedObject, Pipeline
from floodmark.catalog.objects import Kind
from floodmark.catalog.types import BIGINT, INT, VARCHAR, Field, Schema
from floodmark.changelog import EPOCH, ERROR, KIND, ROW_ID, WEIGHT
from floodmark.connectors.base import Connector, Split
from floodmark.plan.definitions import WatermarkInfo
from floodmark.reference.expressions import evaluate
from floodmark.runtime import failpoints, layout
from floodmark.runtime.cut import Cut
from floodmark.runtime.evaluation import Evaluation
from floodmark.runtime.inputs import EpochInputs
from floodmark.runtime.keys import touched_files
from floodmark.runtime.operators import materialize, merge, source
from floodmark.runtime.operators.rows import Rows, stamped
from floodmark.runtime.operators.source import LateFilter
from floodmark.runtime.stages import BROADCAST_BYTES, ObjectStages
from floodmark.runtime.tables import ROUTE, Tables, Writer, rows_of
from floodmark.spark.session import Sessions
from floodmark.spark.types import quoted
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.table import DataFile, Handle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WEIGHT_FIELD = Field(WEIGHT, INT, nullable=False)
_OFFSET_FIELD = Field("__offset", BIGINT)
_ORDINAL_FIELD = Field(merge.DML_ORDINAL, BIGINT, nullable=False)

_KIND_FIELD = Field(KIND, VARCHAR)


@dataclass(frozen=True)
class _Written:
    """The files of a changelog, and those of changes that nobody sees."""

    changes: tuple[DataFile, ...] = ()
    silent: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class Work:
    """What an epoch asks of one object."""

    epoch: int
    now: datetime
    before: Cut
    after: Cut
    pipeline: Pipeline
    created: frozenset[str] = frozenset()
    splits: Mapping[str, Sequence[Split]] = field(default_factory=dict)
    dml: Sequence[Mapping[str, Any]] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def inputs(self, tables: Tables, found: AnalysedObject) -> EpochInputs:
        """Return what a plan of the object reads."""
        return EpochInputs(
            tables,
            self.pipeline.objects,
            self.before,
            self.after,
            self.now,
            fills=found.key in self.created,
        )


def advance(
    found: AnalysedObject,
    work: Work,
    tables: Tables,
    sessions: Sessions,
    connector: Connector | None,
) -> ObjectRecord:
    """Bring an object to the epoch and return its record; done already, it is only read."""
    started = time.monotonic()
    record = work.before.records.get(found.key)
    pinned = {} if record is None else record.versions
    writer = Writer(tables, found.key, work.epoch, work.metadata, pinned)
    task = _Task(found, work, tables, writer)
    match found.kind:
        case Kind.SOURCE:
            assert connector is not None
            record = task.source(sessions, connector)
        case Kind.TABLE:
            record = task.table(sessions, connector)
        case _:
            record = task.view()
    return replace(record, duration_s=round(time.monotonic() - started, 3))


@dataclass
class _Task:
    """The state of one advance."""

    found: AnalysedObject
    work: Work
    tables: Tables
    writer: Writer

    @property
    def now(self) -> int:
        return self.work.inputs(self.tables, self.found).now

    def source(self, sessions: Sessions, connector: Connector) -> ObjectRecord:
        """Take in a connector's splits."""
        table = layout.current_table(self.found)
        splits = self.work.splits.get(self.found.key, ())
        declared = self.found.declared
        assert declared is not None
        if not splits:
            handle = self.writer.commit(table, layout.current_schema(self.found))
            return self._record({table: handle.version}, {}, touched=True)
        session = sessions.ingest if connector.reads_text else sessions.main
        frame = source.typed(connector.read(session, splits), declared, self.work.epoch, self.now)
        late = self._late_filter(connector, splits)
        routed = source.routed(frame, late, layout.current_schema(self.found), self.now)
        files = self.writer.write_routed(table, routed)
        failpoints.reach("files_written")
        marks = self._source_watermarks(files)
        versions = self._put_aside(table, files)
        good = files.get(source.GOOD, ())
        handle = self.writer.commit(table, layout.current_schema(self.found), good)
        counts = {route: rows_of(f) for route, f in files.items()}
        failpoints.reach("view_committed")
        return ObjectRecord(
            self.found.key,
            {**versions, table: handle.version},
            rows_in=sum(counts.values()),
            rows_out=counts.get(source.GOOD, 0),
            late_rows=counts.get(source.LATE, 0),
            dead_rows=counts.get(source.DEAD, 0),
            watermarks=marks,
        )

    def _late_filter(self, connector: Connector, splits: Sequence[Split]) -> LateFilter:
        """Leave out the watermarks under which, by file statistics, no row can be late."""
        declared = self.found.declared
        assert declared is not None
        before = dict(self.work.before.watermarks(self.found.key))
        kept = [
            mark
            for mark in declared.watermarks
            if not _surely_on_time(mark, before.get(mark.column), connector, splits, self.work.now)
        ]
        return LateFilter(tuple(kept), before)

    def _source_watermarks(self, files: Mapping[int, tuple[DataFile, ...]]) -> dict[str, Any]:
        """Return the watermarks after the epoch: raised by stored and late rows."""
        declared = self.found.declared
        assert declared is not None
        marks = dict(self.work.before.watermarks(self.found.key))
        written = [*files.get(source.GOOD, ()), *files.get(source.LATE, ())]
        for mark in declared.watermarks:
            highs = [f.high[mark.column] for f in written if mark.column in f.high]
            if not highs:
                continue
            value, _ = evaluate(mark.expr, {mark.column: max(highs)}, self.work.now)
            if value is not None and (mark.column not in marks or marks[mark.column] < value):
                marks[mark.column] = value
        return marks

    def _put_aside(self, table: str, files: Mapping[int, tuple[DataFile, ...]]) -> dict[str, int]:
        """Commit late rows and dead letters to their tables."""
        versions: dict[str, int] = self._kept_versions()
        late = files.get(source.LATE, ())
        if late:
            target = layout.late_table(self.found)
            moved = self.writer.move(table, late, target)
            handle = self.writer.commit(target, layout.late_schema(self.found), moved)
            versions[target] = handle.version
        dead = files.get(source.DEAD, ())
        if dead:
            versions.update(self._dead_letters([(table, dead)]))
        return versions

    def _dead_letters(self, written: Sequence[tuple[str, tuple[DataFile, ...]]]) -> dict[str, int]:
        if not written:
            return {}
        target = layout.dead_letter_table(self.found)
        moved: tuple[DataFile, ...] = ()
        for table, files in written:
            moved = self.writer.move(table, files, target)
        handle = self.writer.commit(target, layout.DEAD_LETTER, moved)
        failpoints.reach("dead_letter_committed")
        return {target: handle.version}

    def _kept_versions(self) -> dict[str, int]:
        """Return the versions of all tables of the object before the epoch."""
        record = self.work.before.records.get(self.found.key)
        return dict(record.versions) if record is not None else {}

    def view(self) -> ObjectRecord:
        """Advance a materialized view."""
        plan = self.found.plan
        assert plan is not None
        inputs = self.work.inputs(self.tables, self.found)
        stages = self._stages(self.found)
        rows = Evaluation(plan, inputs, stages).root()
        return self._finish(rows, stages, inputs.watermarks(plan.root))

    def _stages(self, owner: AnalysedObject) -> ObjectStages:
        return ObjectStages(self.tables, self.writer, self.work.before, self.found, owner)

    def _finish(
        self, rows: Rows | None, stages: ObjectStages, marks: Mapping[str, Any]
    ) -> ObjectRecord:
        """Write and commit the changes of a view."""
        if rows is not None and self.found.append_only:
            out, written = self._append(rows, stages)
        else:
            out, written = self._update(rows, stages)
        versions = {**self._kept_versions(), **stages.versions, **written}
        dead = sum(rows_of(files) for _, files in stages.dead)
        carried = {w: marks[w] for w, _ in self.found.relation.watermarks if w in marks}
        return ObjectRecord(
            self.found.key,
            versions,
            rows_in=self._rows_in(),
            rows_out=out,
            dead_rows=dead,
            watermarks=carried,
        )

    def _rows_in(self) -> int:
        names = set(self.found.reads)
        return sum(r.rows_out for k, r in self.work.after.records.items()
                   if k in names and r is not self.work.before.records.get(k))  # fmt: skip

    def _append(self, rows: Rows, stages: ObjectStages) -> tuple[int, dict[str, int]]:
        """Add rows to an append-only view, failing ones to its dead letters: one job."""
        table = layout.current_table(self.found)
        schema = layout.current_schema(self.found)
        stamp = stamped(self.work.epoch)
        names = [quoted(f.name) for f in self.found.relation.columns]
        if rows.failing:
            route = f"CASE WHEN {ERROR} IS NULL THEN 0 ELSE {source.DEAD} END AS {ROUTE}"
            frame = rows.frame.selectExpr(*names, stamp, WEIGHT, ERROR, route)
            files = self.writer.write_routed(table, frame)
            stages.put_aside(table, files.get(source.DEAD, ()))
            good = files.get(source.GOOD, ())
        else:
            good = self.writer.write(table, rows.frame.selectExpr(*names, stamp))
        failpoints.reach("files_written")
        versions = self._dead_letters(stages.dead)
        handle = self.writer.commit(table, schema, good)
        failpoints.reach("view_committed")
        return rows_of(good), {**versions, table: handle.version}

    def _update(self, rows: Rows | None, stages: ObjectStages) -> tuple[int, dict[str, int]]:
        """Consolidate changes, write them, and rewrite the rows that they touch."""
        relation = self.found.relation
        settled: Rows | None = rows
        if rows is not None and rows.failing:
            columns = (*relation.columns, _WEIGHT_FIELD)
            frame = stages.settle("root", rows, columns)
            settled = (
                None
                if frame is None
                else replace(rows, frame=frame, failing=False, kinded=False, carried=())
            )
        changes = None
        if settled is not None:
            changes = materialize.changelog(
                settled, relation.columns, relation.stream_key, self.work.epoch
            )
        return self.apply(changes, stages)

    def apply(self, changes: DataFrame | None, stages: ObjectStages) -> tuple[int, dict[str, int]]:
        """Commit changes to the changes table, then the current rows that follow from them."""
        versions = self._dead_letters(stages.dead)
        failpoints.reach("state_committed")
        if self.found.append_only:
            handle = self.writer.commit(
                layout.current_table(self.found), layout.current_schema(self.found)
            )
            return 0, {**versions, handle.table: handle.version}
        table = layout.changes_table(self.found)
        written = _Written() if changes is None else self._write_changes(table, changes)
        failpoints.reach("files_written")
        handle = self.writer.commit(table, layout.changes_schema(self.found), written.changes)
        current = self._rewrite(table, written)
        return rows_of(written.changes), {
            **versions,
            table: handle.version,
            current.table: current.version,
        }

    def _write_changes(self, table: str, changes: DataFrame) -> _Written:
        """Write a changelog; changes of accumulators alone go to files of their own."""
        if not layout.own_state(self.found):
            return _Written(self.writer.write(table, changes))
        silent = f"CASE WHEN {KIND} IN ('-S', '+S') THEN 1 ELSE 0 END AS {ROUTE}"
        files = self.writer.write_routed(table, changes.selectExpr("*", silent))
        return _Written(files.get(0, ()), files.get(1, ()))

    def _rewrite(self, changes_table: str, written: _Written) -> Handle:
        """Rewrite the touched files of the current rows from the written changes."""
        table = layout.current_table(self.found)
        schema = layout.current_schema(self.found)
        done = self.writer.recorded(table)
        if done is not None:
            return done
        current = self.writer.newest(table, schema)
        files = (*written.changes, *written.silent)
        if not files:
            return self.writer.commit(table, schema, on=current)
        columns = (*self.found.relation.columns, *layout.own_state(self.found))
        paths = self.writer.paths(changes_table, files)
        if all(f.low.get(KIND) == f.high.get(KIND) == "+I" for f in files):
            # New rows alone: the files of the changelog are those of the table, too.
            added = self.tables.store.share(table, paths, self.work.epoch, self.writer.attempt)
            return self.writer.commit(table, schema, added, (), current)
        frame = self.tables.read_paths(paths, (*columns, _KIND_FIELD))
        key = self.found.relation.stream_key
        touched = touched_files(current, files, paths, key)
        stored = self.tables.read(current, schema, touched)
        rows = materialize.rewritten(stored, frame, columns, key, self.work.epoch)
        rewritten = self.writer.write(table, rows)
        handle = self.writer.commit(table, schema, rewritten, touched, current)
        failpoints.reach("sink_committed" if self.found.kind is Kind.TABLE else "view_committed")
        return handle

    def table(self, sessions: Sessions, connector: Connector | None) -> ObjectRecord:
        """Gather what the connector, sinks and DML write into a table."""
        operations: list[DataFrame] = []
        stages = self._stages(self.found)
        rows_in = 0
        if connector is not None and self.work.splits.get(self.found.key):
            part, rows_in = self._connected(sessions, connector, stages)
            operations += [] if part is None else [part]
        for ordinal, key in enumerate(self.found.feeders):
            part = self._fed(key, ordinal, stages)
            operations += [] if part is None else [part]
        for item in self.work.dml:
            if item["table"] == self.found.key:
                frame = self.tables.read_paths(item["paths"], self._dml_schema())
                operations.append(merge.dml_operations(frame, self._columns()))
                rows_in += int(item["rows"])
        if not operations:
            out, written = self.apply(None, stages)
        elif self.found.append_only:
            out, written = self._append(self._inserted(operations), stages)
        else:
            out, written = self.apply(self._merged(operations), stages)
        versions = {**self._kept_versions(), **stages.versions, **written}
        dead = sum(rows_of(files) for _, files in stages.dead)
        return ObjectRecord(
            self.found.key,
            versions,
            rows_in=rows_in + self._rows_in_of_feeders(),
            rows_out=out,
            dead_rows=dead,
        )

    def _connected(
        self, sessions: Sessions, connector: Connector, stages: ObjectStages
    ) -> tuple[DataFrame | None, int]:
        """Return the operations of the table's own connector, and how many rows it gave."""
        declared = self.found.declared
        assert declared is not None
        splits = self.work.splits[self.found.key]
        session = sessions.ingest if connector.reads_text else sessions.main
        frame = source.typed(connector.read(session, splits), declared, self.work.epoch, self.now)
        names = [quoted(c.name) for c in declared.columns]
        routed = source.routed(
            frame, LateFilter((), {}), (*self._declared_fields(), _OFFSET_FIELD), self.now
        )
        scratch = layout.state_table(self.found, "connector")
        files = self.writer.write_routed(scratch, routed)
        stages.put_aside(scratch, files.get(source.DEAD, ()))
        columns = (*self._declared_fields(), _OFFSET_FIELD)
        good = stages.read_scratch(scratch, files.get(source.GOOD, ()), columns)
        rows = sum(rows_of(f) for f in files.values())
        if good is None:
            return None, rows
        hidden = []
        if not self.found.relation.primary_key:
            hidden = [ROW_ID, f"CAST(NULL AS STRING) AS {ORIGIN}"]
        typed = good.selectExpr(*names, *hidden, "__offset")
        return merge.connector_operations(typed, self._columns()), rows

    def _declared_fields(self) -> Schema:
        declared = self.found.declared
        assert declared is not None
        fields = tuple(Field(c.name, c.type) for c in declared.columns)
        hidden = () if self.found.relation.primary_key else (Field(ROW_ID, BIGINT),)
        return (*fields, *hidden, Field(EPOCH, BIGINT))

    def _rows_in_of_feeders(self) -> int:
        reads = {r for key in self.found.feeders for r in self.work.pipeline[key].reads}
        return sum(r.rows_out for k, r in self.work.after.records.items()
                   if k in reads and r is not self.work.before.records.get(k))  # fmt: skip

    def _columns(self) -> Schema:
        return self.found.relation.columns

    def _dml_schema(self) -> Schema:
        return (*self._columns(), _WEIGHT_FIELD, _ORDINAL_FIELD)

    def _fed(self, key: str, ordinal: int, stages: ObjectStages) -> DataFrame | None:
        """Return the operations of one sink."""
        sink = self.work.pipeline[key]
        assert sink.plan is not None
        inputs = self.work.inputs(self.tables, sink)
        mine = replace(stages, owner=sink)
        evaluation = Evaluation(sink.plan, inputs, mine)
        rows = evaluation.root()
        if rows is None:
            return None
        columns = (*sink.plan.root.schema, _WEIGHT_FIELD)
        frame = mine.settle("root", rows, columns) if rows.failing else rows.frame
        if frame is None:
            return None
        frame = self._with_origin(frame, sink)
        return merge.sink_operations(frame, self._columns(), self._tie(sink), ordinal)

    def _tie(self, sink: AnalysedObject) -> tuple[str, ...]:
        """Return what orders the sink's rows of one key: the upstream stream key."""
        keyed = bool(self.found.relation.primary_key)
        return sink.relation.stream_key if keyed else self.found.relation.stream_key

    def _with_origin(self, frame: DataFrame, sink: AnalysedObject) -> DataFrame:
        """Add the hidden key of a table without one: the sink and its upstream stream key."""
        if self.found.relation.primary_key:
            return frame
        key = ", ".join(quoted(c) for c in sink.relation.stream_key)
        origin = f"concat('{sink.name}:', to_json(struct({key}), map('ignoreNullFields', 'false')))"
        # The sink's own rows may have hidden columns of the same names.
        shown = [quoted(f.name) for f in self.found.relation.visible]
        return frame.selectExpr(*shown, f"0L AS {ROW_ID}", f"{origin} AS {ORIGIN}", WEIGHT)

    def _inserted(self, operations: list[DataFrame]) -> Rows:
        names = [quoted(f.name) for f in self._columns()]
        return Rows(merge.gathered(operations).selectExpr(*names, WEIGHT))

    def _merged(self, operations: list[DataFrame]) -> DataFrame:
        """Return the changes of the stored rows."""
        relation = self.found.relation
        chosen = merge.last_per_key(
            merge.gathered(operations), relation.columns, relation.stream_key
        )
        table = layout.current_table(self.found)
        version = self.work.before.version(self.found.key, table)
        stored, small = None, True
        if version is not None:
            handle = self.tables.at(table, version)
            stored = self.tables.read(handle, layout.current_schema(self.found))
            small = sum(file.size for file in handle.files) < BROADCAST_BYTES
        pairs = merge.pairs(chosen, stored, relation.columns, relation.stream_key, small=small)
        return materialize.as_changes(pairs, relation.columns, self.work.epoch)

    def _record(
        self, versions: Mapping[str, int], marks: Mapping[str, Any], *, touched: bool
    ) -> ObjectRecord:
        kept = {**self._kept_versions(), **versions}
        before = self.work.before.watermarks(self.found.key)
        return ObjectRecord(self.found.key, kept, watermarks={**before, **marks}, touched=touched)


def _surely_on_time(
    mark: WatermarkInfo, before: Any, connector: Connector, splits: Sequence[Split], now: datetime
) -> bool:
    bounds = connector.bounds(splits, mark.column)
    if bounds is None:
        return False
    low, high = bounds
    reached, error = evaluate(mark.expr, {mark.column: high}, now)
    if error is not None or reached is None or low is None:
        return False
    return bool(low >= reached and (before is None or low >= before))
