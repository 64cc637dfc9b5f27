"""A source in an epoch: take in a connector's splits, put late rows and dead letters aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.catalog.types import BIGINT, VARCHAR, Field
from floodmark.changelog import EPOCH, ROW_ID
from floodmark.connectors.base import Connector, Split
from floodmark.reference.expressions import evaluate
from floodmark.runtime import failpoints, layout
from floodmark.runtime.bounds import of_files
from floodmark.runtime.objects.task import Task
from floodmark.runtime.operators import keyed, on_time, source
from floodmark.runtime.operators.promised_key import once_per_key
from floodmark.runtime.operators.source import PLACE, LateFilter
from floodmark.runtime.tables import rows_of
from floodmark.spark.session import Sessions
from floodmark.spark.types import quoted
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def advance(task: Task, sessions: Sessions, connector: Connector) -> ObjectRecord:
    """Take in the splits of the epoch."""
    return _Intake(task, connector).taken(sessions)


@dataclass(frozen=True)
class _Intake:
    """The splits of one source in one epoch."""

    task: Task
    connector: Connector

    def taken(self, sessions: Sessions) -> ObjectRecord:
        """Read, route, write and commit the splits' rows."""
        task, found = self.task, self.task.found
        table, schema = layout.current_table(found), layout.current_schema(found)
        splits = task.work.splits.get(found.key, ())
        if not splits:
            handle = task.writer.commit(table, schema)
            marks = task.work.before.watermarks(found.key)
            versions = {**task.kept_versions(), table: handle.version}
            return ObjectRecord(found.key, versions, watermarks=marks)
        declared = found.declared
        assert declared is not None
        self.connector.check(splits)
        late = self._late_filter(sessions, splits)
        if not declared.primary_key and not late.watermarks and self._is_intact(splits):
            kept = self._taken_over(table, splits)
            if kept is None:
                rows = self._rows(sessions, splits)
                frame = source.good(rows, declared, task.work.epoch, task.now)
                kept = task.writer.write(table, frame.selectExpr(*(quoted(f.name) for f in schema)))
            return self._committed(table, {source.GOOD: kept}, kept, ())
        rows = self._rows(sessions, splits)
        frame = source.typed(rows, declared, task.work.epoch, task.now)
        if declared.primary_key:
            return self._taken_once(frame, splits, late)
        routed = source.routed(frame, late, schema, task.now)
        files = task.writer.write_routed(table, routed)
        aside = ((table, files.get(source.DEAD, ())),)
        return self._committed(table, files, files.get(source.GOOD, ()), aside)

    def _rows(self, sessions: Sessions, splits: Sequence[Split]) -> DataFrame:
        session = sessions.ingest if self.connector.reads_text else sessions.main
        return self.connector.read(session, splits)

    def _taken_over(self, table: str, splits: Sequence[Split]) -> tuple[DataFile, ...] | None:
        """Store the files of the splits as they are; None where their rows have to be read."""
        declared = self.task.found.declared
        assert declared is not None
        if len(declared.physical) < len(declared.columns):
            return None
        files = self.connector.storable(splits)
        if files is None:
            return None
        first = splits[0].partition << source.BLOCK_BITS
        kept = self.task.writer.take(table, [(path, first | offset) for path, offset in files])
        whole = rows_of(kept) == sum(split.end - split.start for split in splits)
        return kept if whole else None

    def _taken_once(
        self, frame: DataFrame, splits: Sequence[Split], late: LateFilter
    ) -> ObjectRecord:
        """Store the rows whose key is not there yet; the source has promised that for all."""
        task, found, declared = self.task, self.task.found, self.task.found.declared
        assert declared is not None
        scratch, table = layout.state_table(found, "connector"), layout.current_table(found)
        fields = tuple(Field(c.name, c.type) for c in declared.columns)
        epoch, order, place = Field(EPOCH, BIGINT), Field(ROW_ID, BIGINT), Field(PLACE, VARCHAR)
        columns = (*fields, epoch, order, place)
        routed = source.routed(frame, late, columns, task.now)
        files = task.writer.write_routed(scratch, routed)
        accepted = files.get(source.GOOD, ())
        once: dict[int, tuple[DataFile, ...]] = {}
        if accepted:
            rows = task.tables.read_paths(task.writer.paths(scratch, accepted), columns)
            stored, _ = task.stored_rows(of_files(accepted, declared.primary_key) or {})
            few = rows_of(accepted) <= keyed.FEW
            once = task.writer.write_routed(table, once_per_key(rows, stored, declared, few=few))
        aside = ((scratch, files.get(source.DEAD, ())), (table, once.get(source.DEAD, ())))
        return self._committed(scratch, files, once.get(source.GOOD, ()), aside)

    def _committed(
        self,
        written: str,
        files: Mapping[int, tuple[DataFile, ...]],
        good: tuple[DataFile, ...],
        dead: Sequence[tuple[str, tuple[DataFile, ...]]],
    ) -> ObjectRecord:
        """Commit what the routes of the table `written` hold; `good` are the files to store."""
        task, found = self.task, self.task.found
        failpoints.reach("files_written")
        versions = self._put_aside(written, files.get(source.LATE, ()), dead)
        table = layout.current_table(found)
        handle = task.writer.commit(table, layout.current_schema(found), good)
        failpoints.reach("view_committed")
        return ObjectRecord(
            found.key,
            {**versions, table: handle.version},
            rows_in=sum(rows_of(f) for f in files.values()),
            rows_out=rows_of(good),
            late_rows=rows_of(files.get(source.LATE, ())),
            dead_rows=sum(rows_of(f) for _, f in dead),
            watermarks=self._watermarks(files),
        )

    def _late_filter(self, sessions: Sessions, splits: Sequence[Split]) -> LateFilter:
        """Leave out the watermarks under which no row can be late.

        That say, from the cheapest on: statistics of files; ranges of pieces of them; and, of many
        rows, a query for such ranges.
        """
        declared, now = self.task.found.declared, self.task.work.now
        assert declared is not None
        before = dict(self.task.work.before.watermarks(self.task.found.key))
        delivered = {f.name for f in declared.physical}
        kept, unknown = [], []
        for mark in declared.watermarks:
            earlier = before.get(mark.column)
            if mark.column in delivered:
                whole = self.connector.bounds(splits, mark.column)
                if whole is not None and on_time.in_order([whole], mark, earlier, now):
                    continue
                pieces = self.connector.pieces(splits, mark.column)
                if pieces is None:
                    unknown.append(mark)
                elif on_time.in_order(pieces, mark, earlier, now):
                    continue
            kept.append(mark)
        many = sum(split.estimate for split in splits) >= on_time.WORTH
        if many and unknown and not self.connector.reads_text:
            rows = self._rows(sessions, splits)
            late = on_time.possibly_late(rows, unknown, before, self.task.now)
            kept = [mark for mark in kept if mark not in unknown or mark in late]
        return LateFilter(tuple(kept), before)

    def _is_intact(self, splits: Sequence[Split]) -> bool:
        """Tell whether surely no row is a dead letter."""
        declared = self.task.found.declared
        assert declared is not None
        needed = source.needed(declared, self.task.now)
        return needed is not None and self.connector.intact(splits, needed)

    def _watermarks(self, files: Mapping[int, tuple[DataFile, ...]]) -> dict[str, Any]:
        """Return the watermarks after the epoch: raised by all rows but dead ones.

        One whose key came twice has a time as good as any.
        """
        declared = self.task.found.declared
        assert declared is not None
        marks = dict(self.task.work.before.watermarks(self.task.found.key))
        written = [*files.get(source.GOOD, ()), *files.get(source.LATE, ())]
        for mark in declared.watermarks:
            highs = [f.high[mark.column] for f in written if mark.column in f.high]
            if not highs:
                continue
            value, _ = evaluate(mark.expr, {mark.column: max(highs)}, self.task.work.now)
            if value is not None and (mark.column not in marks or marks[mark.column] < value):
                marks[mark.column] = value
        return marks

    def _put_aside(
        self,
        written: str,
        late: tuple[DataFile, ...],
        dead: Sequence[tuple[str, tuple[DataFile, ...]]],
    ) -> dict[str, int]:
        """Commit late rows and dead letters to their tables."""
        versions: dict[str, int] = self.task.kept_versions()
        if late:
            target = layout.late_table(self.task.found)
            moved = self.task.writer.move(written, late, target)
            handle = self.task.writer.commit(target, layout.late_schema(self.task.found), moved)
            versions[target] = handle.version
        versions.update(self.task.dead_letters([(t, files) for t, files in dead if files]))
        return versions
