"""A table, or a source with a key, in an epoch: the merge of its connector, sinks and DML.

A source whose rows change (FORMAT UPSERT, DEBEZIUM) is a table that only its connector writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH, OWNERS, ROW_ID, WEIGHT
from floodmark.connectors.base import BEFORE, DELETES, OPERATION, Connector
from floodmark.connectors.fields import Fields
from floodmark.dataflow import materialize
from floodmark.dataflow.evaluation import Evaluation
from floodmark.dataflow.intake import messages, not_null_filter, source
from floodmark.dataflow.intake.source import PLACE, LateFilter
from floodmark.dataflow.intake.transform import transform_messages
from floodmark.dataflow.merge import merge
from floodmark.dataflow.merge.column_owners import add_owners
from floodmark.dataflow.stages import ObjectStages
from floodmark.epochs.objects.apply_changelog import ObjectRows
from floodmark.epochs.objects.object_advance import ObjectAdvance, TablePart
from floodmark.epochs.objects.period_times import set_period_times
from floodmark.epochs.objects.previous_definition import (
    PreviousDefinitions,
    difference,
    with_columns,
)
from floodmark.epochs.objects.row_owners import moves, with_former_owners
from floodmark.epochs.objects.source import field_differences, reading
from floodmark.epochs.objects.table_merge import Counts, Operations, TableMerge
from floodmark.epochs.objects.watermarked_table import WatermarkedTable
from floodmark.epochs.objects.watermarks import DML, SINK, Marks
from floodmark.scalar.types import BIGINT, VARCHAR, Field, Schema
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.literals import literal
from floodmark.spark.round_trips import new_observation
from floodmark.spark.rows import Rows
from floodmark.spark.session import Sessions
from floodmark.spark.types import ident, spark_type
from floodmark.storage.files.statistics import read_footer
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import DataFile
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.owners import owns
from floodmark.stream.objects.replacement import NONE, continuation
from floodmark.stream.objects.sinks import keeps_rows
from floodmark.stream.objects.stored import ORIGIN
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables import layout
from floodmark.tables.bounds import file_bounds
from floodmark.tables.cutoff import cutoff_of
from floodmark.tables.expiry import record_expiry
from floodmark.tables.row_ids import are_fresh
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

_ORDINAL_FIELD = Field(merge.DML_ORDINAL, BIGINT, nullable=False)


def advance_table(
    advance: ObjectAdvance, sessions: Sessions, connector: Connector | None
) -> ObjectRecord:
    """Collect the rows of connector, sinks and DML, and merge them into the stored rows."""
    advance = replace(advance, obj=with_former_owners(advance))
    stages = advance.stages(advance.obj)
    declared = advance.obj.declared
    marked = declared is not None and declared.watermarks
    return TableIngest(
        advance, stages, WatermarkedTable(advance, stages) if marked else None
    ).merge(sessions, connector)


@dataclass
class TableIngest(TablePart):
    """The writers of one table in one epoch."""

    stages: ObjectStages
    watermarked: WatermarkedTable | None = None
    rows_in: int = 0
    inserted: Observation | None = None
    arrivals: tuple[int, Fields] = (0, Fields())

    def __post_init__(self) -> None:
        advance_input, before = (
            self.advance.input,
            self.advance.input.before.records.get(self.obj.key),
        )
        cutoff = cutoff_of(
            self.obj, advance_input.now, before, advance_input.epoch, advance_input.time_of
        )
        self.merging = TableMerge(self.advance, cutoff)
        self._late_keys: list[Operations] = []
        self._formers = PreviousDefinitions(self.advance)

    def merge(self, sessions: Sessions, connector: Connector | None) -> ObjectRecord:
        """Write and commit what the epoch changes in the table."""
        watermarked = self.watermarked
        if watermarked is not None:
            done = watermarked.find_earlier_record()
        else:
            done = None if connector is None else self._resume_merge(connector)
        if done is not None:
            return self._finish_record(done)
        operations = list(self._operations(sessions, connector))
        self.rows_in += self._formers.withdraw_letters(self.stages)
        if self.obj.append_only:
            return self._finish_record(self._append(operations))
        marks = None
        if watermarked is not None:
            operations = [*watermarked.drop_late(operations, self.columns), *self._late_keys]
            marks = watermarked.marks_after()
        ended = self.merging.expire_rows()
        operations += [] if ended is None else [ended]
        changes, outcome = None, self.merging.merge_output
        if operations:
            changes = self.merging.changes(operations, self._estimate_rows())
        aside = dict if watermarked is None else watermarked.commit_late_rows
        out, written = self.advance.apply(
            changes, self.stages, routed=outcome.is_routed and changes is not None, aside=aside
        )
        return self._finish_record(self._record(out, written, marks))

    def _append(self, operations: Sequence[Operations]) -> ObjectRecord:
        """Write and commit the rows of a table to which rows are only added."""
        if self.watermarked is not None:
            frames = [(o.partition, o.frame) for o in operations]
            cutoff = self.merging.cutoff
            return self.watermarked.append(
                frames, self.rows_in, self.advance.external_versions(), cutoff
            )
        if not operations:
            out, written = self.advance.apply(None, self.stages)
        else:
            added = self._first if self.obj.relation.primary_key else self._insert_rows
            out, written = self.advance.append(added(operations), self.stages)
        return self._record(out, written, None)

    def _record(self, out: int, written: Mapping[str, int], marks: Marks | None) -> ObjectRecord:
        """Return the record of the epoch; P5: each row that came is accounted for."""
        counts, dead, late = self.merging.counts, self.stages.dead_rows, 0
        taken_in = self.rows_in + self._count_sink_rows(counts)
        if self.watermarked is not None:
            late = self.watermarked.late_rows
            taken_in += self.watermarked.aside_of_sinks
        applied, expired = counts.applied, counts.expired
        if self.obj.append_only and not self.obj.relation.primary_key:
            applied, expired = out, taken_in - out - dead
        return ObjectRecord(
            self.obj.key,
            {**self.advance.versions_before(), **self.stages.versions, **written},
            rows_in=taken_in,
            rows_out=out,
            late_rows=late,
            dead_rows=dead,
            asked=self.advance.external_versions(),
            ignored_rows=taken_in - applied - expired - dead - late,
            before_differs=counts.differs,
            due=self.stages.first_due,
            expired_rows=expired,
            timed_rows=counts.timed,
            watermarks={} if marks is None else marks.visible,
            **({} if marks is None else marks.record_fields),
        )

    def _finish_record(self, record: ObjectRecord) -> ObjectRecord:
        """Return the record with the fields that came, and what time alone does from here on."""
        time_of = self.advance.input.time_of
        rows, fields = self.arrivals
        lacks = fields.lacks if rows == record.rows_in else ()  # others bring rows, too
        record = set_period_times(
            self.advance, replace(record, lacking=lacks, unused=fields.unused)
        )
        if self.merging.cutoff is None or time_of is None:
            return record
        store = self.advance.tables.store
        return record_expiry(self.obj, record, self.merging.cutoff, store, time_of)

    def _resume_merge(self, connector: Connector) -> ObjectRecord | None:
        """Go on with the changes that an earlier attempt has stored of splits that are gone."""
        advance, obj = self.advance, self.obj
        splits = advance.input.splits.get(obj.key, ())
        append_only = obj.append_only
        table = layout.current_table(obj) if append_only else layout.changes_table(obj)
        stored = advance.find_commit(table)
        if stored is None or obj.feeders or connector.find_change(splits) is None:
            return None
        version, files = stored
        versions = {**advance.versions_before(), table: version}
        dead = advance.find_commit(layout.dead_letter_table(obj))
        if dead is not None:
            versions[layout.dead_letter_table(obj)] = dead[0]
        if not append_only:
            at_rest = ObjectRows(obj, advance.input.before, advance.tables, advance.writer)
            versions.update(at_rest.apply_changelog(table, files))
        out, letters = rows_of(files), 0 if dead is None else rows_of(dead[1])
        # How many rows were delivered, and change nothing, nobody knows any more.
        return ObjectRecord(
            obj.key, versions, rows_in=out + letters, rows_out=out, dead_rows=letters
        )

    def _count_sink_rows(self, counts: Counts) -> int:
        """Return how many rows sinks brought that nothing has put aside before."""
        if self.inserted is None:
            return counts.brought
        return int(self.inserted.get.get("brought") or 0)

    def _estimate_rows(self) -> int:
        """Return about how many rows come, before those of sinks are computed."""
        upstream = {r for key in self.obj.feeders for r in self.advance.input.pipeline[key].reads}
        return self.rows_in + self.advance.rows_of_inputs(upstream)

    def _operations(self, sessions: Sessions, connector: Connector | None) -> Iterator[Operations]:
        parts = []
        if connector is not None and self.advance.input.splits.get(self.obj.key):
            parts.append(self._connector_operations(sessions, connector))
        parts += [self._fed(key, ordinal) for ordinal, key in enumerate(self.obj.feeders)]
        parts += [self._withdrawn(sink) for sink in self._formers.sinks_to_remove]
        parts += [self._without_key()]
        previous = self.advance.input.previous.values()
        parts += [self._withdrawn(s, formerly=True) for s in previous if moves(self.advance, s)]
        mine = [i for i in self.advance.input.dml if self._is_mine(i)]
        parts += [self._dml_operations(mine)] if mine else []
        return (part for part in parts if part is not None)

    def _is_mine(self, item: Mapping[str, Any]) -> bool:
        return bool(item["table"] == self.obj.key)

    def _dml_operations(self, items: Sequence[Mapping[str, Any]]) -> Operations:
        """Return the operations of a DML statement, or of those of a transaction."""
        self.rows_in += sum(int(item["rows"]) for item in items)
        paths = [path for item in items for path in item["paths"]]
        columns = tuple(f for f in self.columns if f.name != OWNERS)
        frame = self.advance.tables.read_paths(paths, (*columns, WEIGHT_FIELD, _ORDINAL_FIELD))
        files = [read_footer(path, path) for path in paths]
        operations = self._add_old_row(
            merge.dml_operations(add_owners(frame, self.obj), self.columns)
        )
        adds = rows_of(files) if all(f.low.get(WEIGHT) == 1 for f in files) else 0
        fresh = adds > 0 and all(are_fresh(item, files) for item in items)
        return Operations(operations, self._key_bounds(files), DML, None, 0, adds, paths, fresh)

    def _key_bounds(self, files: Sequence[DataFile]) -> Bounds:
        return file_bounds(files, layout.merge_key(self.obj)) or {}

    def _connector_operations(self, sessions: Sessions, connector: Connector) -> Operations | None:
        """Return the operations of the object's own connector."""
        advance, declared = self.advance, self.declaration
        splits = advance.input.splits[self.obj.key]
        session = sessions.ingest if connector.reads_text else sessions.main
        rows = connector.read_splits(session, splits)
        frame = source.add_types(
            rows, declared, advance.input.epoch, advance.now, advance.default_seed
        )
        columns = self._connector_fields()
        if declared.is_messages:
            frame = messages.operations(frame, declared)
        marked = self.watermarked
        late = LateFilter((), {}) if marked is None else marked.late_filter()
        routed, read = reading(source.add_route(frame, late, columns, advance.now), splits)
        if declared.transform is not None:
            text = source.as_json(declared)
            passed = (ROW_ID, EPOCH, WEIGHT)
            routed = transform_messages(routed, declared.transform, passed, text, advance.now)
            columns = self._operation_fields()
        scratch = layout.state_table(self.obj, "connector")
        files = advance.writer.write_routed(scratch, routed)
        self.stages.add_dead_letters(scratch, files.get(source.DEAD, ()))
        if marked is not None:
            marked.add_routed_files(scratch, files)
            self._take_late(scratch, files.get(source.LATE, ()), columns)
        accepted = files.get(source.GOOD, ())
        good = self.stages.read_scratch(scratch, accepted, columns)
        came = sum(rows_of(f) for f in files.values())
        self.arrivals = came, field_differences(splits, read)
        self.rows_in += came
        if good is None:
            return None
        if declared.is_messages:
            weight = f"CASE WHEN {OPERATION} = '{DELETES}' THEN -1 ELSE 1 END"
            operations = merge.connector_operations(good, self.columns, weight, self.merging.firsts)
        else:
            hidden = [] if self.obj.relation.primary_key else [f"CAST(NULL AS STRING) AS {ORIGIN}"]
            mine = add_owners(good.selectExpr("*", *hidden), self.obj)
            operations = merge.connector_operations(mine, self.columns)
        paths = advance.writer.paths(scratch, accepted)
        return Operations(operations, self._key_bounds(accepted), paths=paths)

    def _take_late(self, scratch: str, files: tuple[DataFile, ...], columns: Schema) -> None:
        """Remember that late rows have taken the place of their keys' rows, and are not seen."""
        rows = self.stages.read_scratch(scratch, files, columns)
        if rows is not None and self.declaration.ttl_column is not None:
            deletes = merge.connector_operations(rows, self.columns, str(merge.OUTDATED))
            paths = self.advance.writer.paths(scratch, files)
            self._late_keys.append(Operations(deletes, self._key_bounds(files), paths=paths))

    def _connector_fields(self) -> Schema:
        fields = tuple(Field(c.name, c.type) for c in self.declaration.columns)
        extra = messages.message_fields(self.declaration) if self.declaration.is_messages else ()
        place = (Field(PLACE, VARCHAR),) if self.declaration.transform is not None else ()
        return (*fields, Field(ROW_ID, BIGINT), Field(EPOCH, BIGINT), *place, *extra)

    def _operation_fields(self) -> Schema:
        """Return the columns of operations on rows that are transformed."""
        operation = messages.message_fields(self.declaration)[0]
        return (*self.columns, Field(ROW_ID, BIGINT), Field(EPOCH, BIGINT), operation)

    def _add_old_row(self, operations: DataFrame) -> DataFrame:
        """Add the old row that messages deliver, and others do not, where one is looked at."""
        if not self.merging.firsts:
            return operations
        type_ = spark_type(messages.old_row_field(self.declaration).type)
        return operations.selectExpr("*", f"CAST(NULL AS {type_}) AS {BEFORE}")

    def _fed(self, name: str, ordinal: int) -> Operations | None:
        """Return the operations of one sink."""
        sink = self.advance.input.pipeline[name]
        assert sink.plan is not None
        inputs = self.advance.input.inputs(self.advance.tables, sink)
        previous = self.advance.input.previous.get(name)
        silent = previous is not None and continuation(sink, previous) == NONE
        mine = replace(self.stages, owner=sink)
        if silent:
            # Of rows that are not written there are no letters, either.
            mine = replace(mine, dead=[], withdrawn=[])
        dead = self.stages.dead_rows
        evaluation = Evaluation(sink.plan, inputs, mine, self.advance.input.keyed_reads)
        root = sink.plan.root
        rows = evaluation.root()
        if silent:
            return None
        frame, settled = None, False
        if rows is not None:
            rows = not_null_filter.mark_nulls(
                rows, root.schema, self.declaration, owned=owns(sink.object)
            )
            columns = (*root.schema, WEIGHT_FIELD)
            frame = mine.settle("root", rows, columns) if rows.failing else rows.frame
            settled = rows.inserts or rows.consolidated
        self.rows_in += self.stages.dead_rows - dead
        if previous is not None and not moves(self.advance, previous):
            key = self.obj.relation.primary_key
            frame = difference(frame, self._formers.rows(previous), sink, key)
        if frame is None:
            return None
        if not settled:
            frame = materialize.cancel(frame, root.schema, sink.relation.stream_key)
        if keeps_rows(sink.object):
            frame = frame.where(f"{WEIGHT} > 0")
        frame = add_owners(self._add_origin(frame, sink), self.obj, sink)
        tie = self._tie(sink)
        operations = merge.sink_operations(frame, self.columns, tie, ordinal)
        operations = self._add_old_row(operations)
        key = self.obj.relation.primary_key
        # Where the rows of the former query lie, nobody knows.
        bounds = {} if previous is not None else evaluation.bounds(root)
        within = {c: ends for c, ends in bounds.items() if c in key}
        partition = f"{SINK}{sink.object.storage_key}"
        return Operations(operations, within, partition, ordinal if tie else None)

    def _withdrawn(self, sink: AnalysedObject, *, formerly: bool = False) -> Operations | None:
        """Return the operations that take back what a sink has written."""
        frame = self._formers.rows(sink)
        if formerly and frame is not None:  # the table, too, can have other columns
            frame = with_columns(frame, self.obj.relation.columns)
        if frame is None:
            return None
        frame = add_owners(self._add_origin(frame, sink), self.obj, sink, formerly=formerly)
        return Operations(self._add_old_row(merge.sink_operations(frame, self.columns, (), -1)))

    def _without_key(self) -> Operations | None:
        """Return, as a sink begins, the operations that take the rows without a key back.

        If the table was a view before, these rows were in the view; now the sink has them as dead
        letters.
        """
        started = [i for i, k in enumerate(self.obj.feeders) if k in self.advance.input.created]
        if not started or not self.obj.relation.primary_key:
            return None
        frame = self.merging.keyless_rows()
        if frame is None:
            return None
        rows = self._add_old_row(add_owners(frame, self.obj))
        return Operations(merge.sink_operations(rows, self.columns, (), started[0]))

    def _tie(self, sink: AnalysedObject) -> tuple[str, ...]:
        """Return the columns that order the sink's rows of one key: the upstream stream key."""
        owner = sink if self.obj.relation.primary_key else self.obj
        return owner.relation.stream_key

    def _add_origin(self, frame: DataFrame, sink: AnalysedObject) -> DataFrame:
        """Add the hidden key of a table without one: the sink and its upstream stream key."""
        if self.obj.relation.primary_key:
            return frame
        key = ", ".join(ident(c) for c in sink.relation.stream_key)
        # The same row comes once more where updates are taken for inserts.
        again = f"{self.advance.input.epoch}:" if keeps_rows(sink.object) else ""
        sink_name = literal(f"{sink.object.storage_name}:{again}", VARCHAR)
        origin = f"concat({sink_name}, to_json(struct({key}), map('ignoreNullFields', 'false')))"
        # The sink's own rows may have hidden columns of the same names.
        shown = [ident(f.name) for f in self.obj.relation.visible]
        return frame.selectExpr(*shown, f"0L AS {ROW_ID}", f"{origin} AS {ORIGIN}", WEIGHT)

    def _insert_rows(self, operations: Sequence[Operations]) -> Rows:
        names = [ident(f.name) for f in self.columns]
        frame = merge.gather_operations([o.frame for o in operations])
        if self.obj.feeders:
            from pyspark.sql import functions as F

            self.inserted = new_observation()
            of_sinks = F.expr(f"count_if({merge.OF_SINK})").alias("brought")
            frame = frame.observe(self.inserted, of_sinks)
        cutoff = self.merging.cutoff
        if cutoff is not None and cutoff.ttl.column is not None:
            frame = cutoff.lasting(frame, (*self.columns, WEIGHT_FIELD))
        return Rows(frame.selectExpr(*names, WEIGHT))

    def _first(self, operations: Sequence[Operations]) -> Rows:
        """Return the rows with a key that no row has yet, of several the first."""
        names = [ident(f.name) for f in self.columns]
        changes = self.merging.changes(operations, self._estimate_rows())
        return Rows(changes.selectExpr(*names, f"1 AS {WEIGHT}"))
