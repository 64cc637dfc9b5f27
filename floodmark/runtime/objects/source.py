"""A source in an epoch: take in a connector's splits, put late rows and dead letters aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floodmark.connectors.base import Connector, Split
from floodmark.plan.definitions import WatermarkInfo
from floodmark.reference.expressions import evaluate
from floodmark.runtime import failpoints, layout
from floodmark.runtime.objects.task import Task
from floodmark.runtime.operators import source
from floodmark.runtime.operators.source import LateFilter
from floodmark.runtime.tables import rows_of
from floodmark.spark.session import Sessions
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.table import DataFile


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
        session = sessions.ingest if self.connector.reads_text else sessions.main
        rows = self.connector.read(session, splits)
        frame = source.typed(rows, declared, task.work.epoch, task.now)
        routed = source.routed(frame, self._late_filter(splits), schema, task.now)
        files = task.writer.write_routed(table, routed)
        failpoints.reach("files_written")
        versions = self._put_aside(table, files)
        handle = task.writer.commit(table, schema, files.get(source.GOOD, ()))
        counts = {route: rows_of(f) for route, f in files.items()}
        failpoints.reach("view_committed")
        return ObjectRecord(
            found.key,
            {**versions, table: handle.version},
            rows_in=sum(counts.values()),
            rows_out=counts.get(source.GOOD, 0),
            late_rows=counts.get(source.LATE, 0),
            dead_rows=counts.get(source.DEAD, 0),
            watermarks=self._watermarks(files),
        )

    def _late_filter(self, splits: Sequence[Split]) -> LateFilter:
        """Leave out the watermarks under which, by file statistics, no row can be late."""
        declared = self.task.found.declared
        assert declared is not None
        before = dict(self.task.work.before.watermarks(self.task.found.key))
        kept = [
            mark
            for mark in declared.watermarks
            if not self._surely_on_time(mark, before.get(mark.column), splits)
        ]
        return LateFilter(tuple(kept), before)

    def _watermarks(self, files: Mapping[int, tuple[DataFile, ...]]) -> dict[str, Any]:
        """Return the watermarks after the epoch: raised by stored and late rows."""
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

    def _put_aside(self, table: str, files: Mapping[int, tuple[DataFile, ...]]) -> dict[str, int]:
        """Commit late rows and dead letters to their tables."""
        versions: dict[str, int] = self.task.kept_versions()
        late = files.get(source.LATE, ())
        if late:
            target = layout.late_table(self.task.found)
            moved = self.task.writer.move(table, late, target)
            handle = self.task.writer.commit(target, layout.late_schema(self.task.found), moved)
            versions[target] = handle.version
        dead = files.get(source.DEAD, ())
        if dead:
            versions.update(self.task.dead_letters([(table, dead)]))
        return versions

    def _surely_on_time(self, mark: WatermarkInfo, before: Any, splits: Sequence[Split]) -> bool:
        found = self.connector.bounds(splits, mark.column)
        if found is None:
            return False
        low, high = found
        reached, error = evaluate(mark.expr, {mark.column: high}, self.task.work.now)
        if error is not None or reached is None or low is None:
            return False
        return bool(low >= reached and (before is None or low >= before))
