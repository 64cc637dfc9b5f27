"""A source in an epoch: take in a connector's splits, put late rows and dead letters aside.

Only the result of TRANSFORM USING is stored. Time alone writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark import failpoints
from floodmark.changelog import EPOCH, ROW_ID, WEIGHT, is_hidden
from floodmark.connectors.base import Connector, Split
from floodmark.connectors.fields import Fields, fields_of
from floodmark.dataflow.intake import late_row_pruning, source
from floodmark.dataflow.intake.ingest_metrics import IngestCounts
from floodmark.dataflow.intake.primary_key_dedup import once_per_key
from floodmark.dataflow.intake.source import PLACE, LateFilter
from floodmark.dataflow.intake.transform import transform_rows
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.epochs.objects.period_times import set_period_times
from floodmark.epochs.objects.watermarks import CONNECTOR
from floodmark.plan.declaration import Declaration
from floodmark.scalar.types import BIGINT, VARCHAR, Field, Schema
from floodmark.spark import columns
from floodmark.spark.session import Sessions
from floodmark.spark.types import ident
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import DataFile
from floodmark.tables import layout
from floodmark.tables.bounds import file_bounds
from floodmark.tables.tables import rows_of
from floodmark.tables.validity_period import drop_ended

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ENGINES = (Field(ROW_ID, BIGINT), Field(EPOCH, BIGINT), Field(PLACE, VARCHAR))
_PASSED = (*(f.name for f in _ENGINES), WEIGHT, columns.WATERMARK)
"""The engine's columns of rows on their way in."""


def advance_source(
    advance: ObjectAdvance, sessions: Sessions, connector: Connector
) -> ObjectRecord:
    """Take in the splits of the epoch."""
    return SourceIngest(advance, connector).ingest(sessions)


@dataclass(frozen=True)
class SourceIngest:
    """The splits of one source in one epoch."""

    advance: ObjectAdvance
    connector: Connector

    def ingest(self, sessions: Sessions) -> ObjectRecord:
        """Read, route, write and commit the splits' rows."""
        advance, obj = self.advance, self.advance.obj
        table, schema = layout.current_table(obj), layout.current_schema(obj)
        splits = advance.input.splits.get(obj.key, ())
        if not splits:
            handle = advance.writer.commit(table, schema)
            versions = {**advance.versions_before(), table: handle.version}
            marks = advance.marks.close_epoch(obj.key in advance.input.exhausted)
            return set_period_times(
                advance,
                ObjectRecord(obj.key, versions, watermarks=marks.visible, **marks.record_fields),
            )
        declared = advance.declaration
        if (finished := advance.writer.find_record(table)) is not None:
            # An earlier attempt has stored all of it, whatever has become of the files since.
            return set_period_times(advance, finished)
        self.connector.check(splits)
        late = self._late_filter(sessions, splits)
        if declared.transform is not None:
            return self._ingest_transformed(self._rows(sessions, splits), declared, late)
        if not declared.primary_key and not late.watermarks and self._is_intact(splits):
            kept = self._import_files(table, splits)
            if kept is None:
                rows = self._rows(sessions, splits)
                frame = source.good(
                    rows, declared, advance.input.epoch, advance.now, advance.default_seed
                )
                kept = advance.writer.write(
                    table, frame.selectExpr(*(ident(f.name) for f in schema))
                )
            return self._commit(table, {source.GOOD: kept}, kept, ())
        rows = self._rows(sessions, splits)
        frame = source.add_types(
            rows, declared, advance.input.epoch, advance.now, advance.default_seed
        )
        if declared.primary_key:
            columns = (*(Field(c.name, c.type) for c in declared.columns), *_ENGINES)
            routed, read = self._count_columns(source.add_route(frame, late, columns, advance.now))
            row = source.as_json(declared)
            return self._ingest_new_keys(routed, columns, declared.primary_key, row, read=read)
        routed, read = self._count_columns(source.add_route(frame, late, schema, advance.now))
        files = advance.writer.write_routed(table, routed)
        aside = ((table, files.get(source.DEAD, ())),)
        return self._commit(table, files, files.get(source.GOOD, ()), aside, read=read)

    def _count_columns(self, routed: DataFrame) -> tuple[DataFrame, IngestCounts | None]:
        """Return routed rows and what counts them; None where files lack no column."""
        return reading(routed, self.advance.input.splits[self.advance.obj.key])

    def _rows(self, sessions: Sessions, splits: Sequence[Split]) -> DataFrame:
        session = sessions.ingest if self.connector.reads_text else sessions.main
        return self.connector.read_splits(session, splits)

    def _import_files(self, table: str, splits: Sequence[Split]) -> tuple[DataFile, ...] | None:
        """Store the files of the splits as they are; None where their rows have to be read."""
        declared = self.advance.declaration
        if len(declared.physical) < len(declared.columns):
            return None
        files = self.connector.storable(splits)
        if files is None:
            return None
        first = splits[0].partition << source.BLOCK_BITS
        try:
            kept = self.advance.writer.take(
                table, [(path, first | offset) for path, offset in files]
            )
        except Exception:
            self.connector.check(splits)
            raise
        whole = rows_of(kept) == sum(split.end - split.start for split in splits)
        return kept if whole else None

    def _ingest_transformed(
        self, rows: DataFrame, declared: Declaration, late: LateFilter
    ) -> ObjectRecord:
        """Store what the transformation makes of the rows; what came is counted on the way."""
        assert declared.transform is not None
        advance, transform = self.advance, declared.transform
        columns = (*(Field(c.name, c.type) for c in declared.columns), *_ENGINES)
        frame = source.add_types(
            rows, declared, advance.input.epoch, advance.now, advance.default_seed
        )
        counted = IngestCounts(declared, fields_of(advance.input.splits[advance.obj.key]).lacks)
        routed = source.add_route(frame, late, columns, advance.now)
        made = transform_rows(
            routed, transform, _PASSED, source.as_json(declared), advance.now, counted
        )
        if transform.key:
            stored = (*transform.fields, *transform.period, *_ENGINES)
            names = [f.name for f in advance.obj.relation.visible]
            keys = zip(transform.key, declared.primary_key, strict=True)
            called = {k: k if c in names else c for k, c in keys if is_hidden(k)}
            kept = [f"{ident(k)} AS {ident(c)}" for k, c in called.items()]
            shown = ", ".join([*kept, *map(ident, names)])
            row = f"to_json(struct({shown}), map('ignoreNullFields', 'false'))"
            return self._ingest_new_keys(made, stored, transform.key, row, counted)
        table = layout.current_table(advance.obj)
        files = advance.writer.write_routed(table, made.drop(PLACE))
        aside = ((table, files.get(source.DEAD, ())),)
        return self._commit(table, files, files.get(source.GOOD, ()), aside, counted)

    def _ingest_new_keys(
        self,
        routed: DataFrame,
        columns: Schema,
        key: tuple[str, ...],
        row: str,
        counted: IngestCounts | None = None,
        *,
        read: IngestCounts | None = None,
    ) -> ObjectRecord:
        """Store the rows whose key is not there yet; the source has promised that for all.

        An expired row no longer occupies its key, even if maintenance has not deleted it yet. `row`
        is the text of a row in a dead letter.
        """
        advance, obj = self.advance, self.advance.obj
        scratch, table = layout.state_table(obj, "connector"), layout.current_table(obj)
        files = advance.writer.write_routed(scratch, routed)
        accepted = files.get(source.GOOD, ())
        once: dict[int, tuple[DataFile, ...]] = {}
        if accepted:
            rows = advance.tables.read_paths(advance.writer.paths(scratch, accepted), columns)
            stored, _ = advance.rows_before(file_bounds(accepted, key) or {})
            stored = drop_ended(stored, obj.period, advance.input.now)
            few = rows_of(accepted) <= advance.tables.limits.broadcast_rows
            names = [f.name for f in layout.row_schema(obj)]
            promise = f"PRIMARY KEY ({', '.join(advance.declaration.primary_key)})"
            once = advance.writer.write_routed(
                table, once_per_key(rows, stored, key, promise, names, row, few=few)
            )
        aside = ((scratch, files.get(source.DEAD, ())), (table, once.get(source.DEAD, ())))
        return self._commit(scratch, files, once.get(source.GOOD, ()), aside, counted, read=read)

    def _commit(
        self,
        written: str,
        files: Mapping[int, tuple[DataFile, ...]],
        good: tuple[DataFile, ...],
        dead: Sequence[tuple[str, tuple[DataFile, ...]]],
        counted: IngestCounts | None = None,
        *,
        read: IngestCounts | None = None,
    ) -> ObjectRecord:
        """Commit what the routes of the table `written` hold; `good` are the files to store.

        What is not written is `counted`; what files seem to lack is looked for in all that is
        `read`.
        """
        advance, obj = self.advance, self.advance.obj
        failpoints.reach("files_written")
        # What was looked at and what was stored are one file only if nobody has replaced it.
        self.connector.check(advance.input.splits[obj.key])
        versions = self._commit_side_tables(written, files.get(source.LATE, ()), dead)
        table = layout.current_table(obj)
        highs = self._highs(files) if counted is None else counted.highs
        marks = advance.marks.raise_by({CONNECTOR: highs}).close_epoch(
            obj.key in advance.input.exhausted
        )
        written_rows = sum(rows_of(f) for f in files.values())
        fields = field_differences(advance.input.splits[obj.key], counted or read)
        record = ObjectRecord(
            obj.key,
            versions,
            lacking=fields.lacks,
            unused=fields.unused,
            rows_in=written_rows if counted is None else counted.rows,
            rows_out=rows_of(good),
            late_rows=rows_of(files.get(source.LATE, ())),
            dead_rows=sum(rows_of(f) for _, f in dead),
            dropped_rows=0 if counted is None else counted.dropped_count,
            watermarks=marks.visible,
            **marks.record_fields,
        )
        record = advance.writer.commit_last(table, layout.current_schema(obj), good, record)
        failpoints.reach("view_committed")
        return set_period_times(advance, record)

    def _late_filter(self, sessions: Sessions, splits: Sequence[Split]) -> LateFilter:
        """Leave out the watermarks under which no row can be late.

        That say, from the cheapest on: statistics of files; ranges of pieces of them; and, of many
        rows, a query for such ranges.
        """
        declared, now = self.advance.declaration, self.advance.input.now
        before = dict(self.advance.input.before.watermarks(self.advance.obj.key))
        # What has defaults need not be in the files.
        delivered = {f.name for f in declared.physical} - {*declared.default_columns}
        kept, unknown = [], []
        for mark in declared.watermarks:
            earlier = before.get(mark.column)
            if mark.column in delivered:
                whole = self.connector.bounds(splits, mark.column)
                if whole is not None and late_row_pruning.has_no_late_row(
                    [whole], mark, earlier, now
                ):
                    continue
                pieces = self.connector.pieces(splits, mark.column)
                if pieces is None:
                    unknown.append(mark)
                elif late_row_pruning.has_no_late_row(pieces, mark, earlier, now):
                    continue
            kept.append(mark)
        limits = self.advance.tables.limits
        many = sum(split.estimate for split in splits) >= limits.late_query_rows
        if many and unknown and not self.connector.reads_text:
            rows = self._rows(sessions, splits)
            late = late_row_pruning.possibly_late(
                rows, unknown, before, self.advance.now, limits.late_piece
            )
            kept = [mark for mark in kept if mark not in unknown or mark in late]
        return LateFilter(tuple(kept), before)

    def _is_intact(self, splits: Sequence[Split]) -> bool:
        """Tell whether surely no row is a dead letter."""
        declared = self.advance.declaration
        needed = source.required_columns(declared, self.advance.now)
        if needed is None or not self.connector.intact(splits, needed):
            return False
        marks = ((m, declared.clock.latest(self.advance.input.now, m.expr.type))
                 for m in declared.watermarks)  # fmt: skip
        return all(
            latest is None or self._is_before(splits, mark.column, latest) for mark, latest in marks
        )

    def _is_before(self, splits: Sequence[Split], column: str, latest: Any) -> bool:
        """Tell whether statistics say that no time of a column is too far ahead."""
        ends = self.connector.bounds(splits, column)
        return ends is not None and ends[1] <= latest

    def _highs(self, files: Mapping[int, tuple[DataFile, ...]]) -> dict[str, Any]:
        """Return the highest value of each column with a watermark, late rows among them.

        One whose key came twice has a time as good as any.
        """
        declared = self.advance.declaration
        written = [*files.get(source.GOOD, ()), *files.get(source.LATE, ())]
        highs = {
            m.column: [f.high[m.column] for f in written if m.column in f.high]
            for m in declared.watermarks
        }
        return {column: max(values) for column, values in highs.items() if values}

    def _commit_side_tables(
        self,
        written: str,
        late: tuple[DataFile, ...],
        dead: Sequence[tuple[str, tuple[DataFile, ...]]],
    ) -> dict[str, int]:
        """Commit late rows and dead letters to their tables."""
        versions: dict[str, int] = self.advance.versions_before()
        if late:
            target = layout.late_table(self.advance.obj)
            moved = self.advance.writer.move(written, late, target)
            handle = self.advance.writer.commit(target, layout.late_schema(self.advance.obj), moved)
            versions[target] = handle.version
        versions.update(self.advance.dead_letters([(t, files) for t, files in dead if files]))
        return versions


def reading(routed: DataFrame, splits: Sequence[Split]) -> tuple[DataFrame, IngestCounts | None]:
    """Return routed rows and counters of fields that files seem to lack; None without counters."""
    lacks = fields_of(splits).lacks
    if not lacks:
        return routed, None
    counted = IngestCounts(None, lacks)
    return counted.observe(routed), counted


def field_differences(splits: Sequence[Split], read: IngestCounts | None) -> Fields:
    """Return missing and additional fields of splits; a field that a row in `read` has is not
    missing.

    Of text files, only the beginning was inspected.
    """
    fields = fields_of(splits)
    return fields if read is None else Fields(read.lacking, fields.unused)
