"""An append-only table with watermarks in an epoch: late rows and dead letters go aside.

The connector's rows are judged one by one as they are read; those of a statement or sink count as
one row, and do not hold the watermark back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.plan.definitions import Declared
from floodmark.runtime import failpoints, layout
from floodmark.runtime.objects.task import Task
from floodmark.runtime.operators import source
from floodmark.runtime.operators.judged import WRITERS, judged, taken
from floodmark.runtime.operators.source import LateFilter
from floodmark.runtime.stages import ObjectStages
from floodmark.runtime.tables import rows_of
from floodmark.runtime.watermarks import CONNECTOR
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.records import from_text, to_text
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Written = tuple[str, tuple[DataFile, ...]]
"""The table into whose folder files were written, and the files."""


@dataclass
class Watermarked:
    """What one epoch adds to the table; `late` are rows of its connector that were put aside."""

    task: Task
    stages: ObjectStages
    late: list[Written] = field(default_factory=list)
    highs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def found(self) -> AnalysedObject:
        """Return the table."""
        return self.task.found

    @property
    def declared(self) -> Declared:
        """Return what CREATE says."""
        assert self.found.declared is not None
        return self.found.declared

    def finished_before(self) -> ObjectRecord | None:
        """Return the record of an earlier attempt that has stored all of the epoch."""
        table = layout.current_table(self.found)
        told, done = self.task.writer.told(table), self.task.writer.recorded(table)
        if told is None or done is None:
            return None
        record = ObjectRecord(**from_text(told))
        return replace(record, versions={**record.versions, table: done.version})

    def late_filter(self) -> LateFilter:
        """Return what makes a row of the connector late."""
        return LateFilter(self.declared.watermarks, self.task.marks.bounds(CONNECTOR))

    def put_late(self, table: str, files: Mapping[int, tuple[DataFile, ...]]) -> None:
        """Take in what the connector's rows were written as, by route."""
        routes = [files.get(route, ()) for route in (source.GOOD, source.LATE)]
        self.highs[CONNECTOR] = self._highs([file for found in routes for file in found])
        if routes[1]:
            self.late.append((table, routes[1]))

    def added(
        self, operations: Sequence[tuple[str, DataFrame]], rows_in: int, asked: Mapping[str, int]
    ) -> ObjectRecord:
        """Write and commit the rows of each partition; the table itself is committed last."""
        task, table = self.task, layout.current_table(self.found)
        files = self._written(table, operations)
        failpoints.reach("files_written")
        good = self._routed(files, source.GOOD)
        self.late += [(table, part) for part in self._parts(files, source.LATE)]
        for part in self._parts(files, source.DEAD):
            self.stages.put_aside(table, part)
        late_rows = sum(rows_of(part) for _, part in self.late)
        marks = task.marks.raised(self.highs).at_end(self.found.key in task.work.exhausted)
        record = ObjectRecord(
            self.found.key,
            {**task.kept_versions(), **self.stages.versions, **self._put_aside()},
            rows_in=rows_in,
            rows_out=rows_of(good),
            late_rows=late_rows,
            dead_rows=self.stages.dead_rows,
            watermarks=marks.seen,
            **marks.logged,
            asked=asked,
            due=self.stages.due,
        )
        schema = layout.current_schema(self.found)
        handle = task.writer.commit(table, schema, good, told=to_text(asdict(record)))
        failpoints.reach("sink_committed")
        return replace(record, versions={**record.versions, table: handle.version})

    def _written(
        self, table: str, operations: Sequence[tuple[str, DataFrame]]
    ) -> dict[int, tuple[DataFile, ...]]:
        """Write all rows in one job, each partition under routes of its own."""
        if not operations:
            return {}
        columns, epoch = layout.row_schema(self.found), self.task.work.epoch
        at = (epoch, self.task.now)
        marks = self.task.marks
        frames = [
            taken(frame, columns, epoch)
            if partition == CONNECTOR
            else judged(frame, columns, self.declared, marks.bounds(partition), at, i)
            for i, (partition, frame) in enumerate(operations)
        ]
        frame = reduce(lambda a, b: a.unionAll(b), frames)
        files = self.task.writer.write_routed(table, frame)
        for i, (partition, _) in enumerate(operations):
            if partition != CONNECTOR:
                routes = (WRITERS * i + source.GOOD, WRITERS * i + source.LATE)
                mine = [file for route in routes for file in files.get(route, ())]
                self.highs[partition] = self._highs(mine)
        return files

    def _parts(
        self, files: Mapping[int, tuple[DataFile, ...]], route: int
    ) -> list[tuple[DataFile, ...]]:
        """Return the files of a route, writer by writer."""
        return [found for r, found in files.items() if r % WRITERS == route]

    def _routed(
        self, files: Mapping[int, tuple[DataFile, ...]], route: int
    ) -> tuple[DataFile, ...]:
        return tuple(file for part in self._parts(files, route) for file in part)

    def _highs(self, files: Sequence[DataFile]) -> dict[str, Any]:
        """Return the highest time of each column with a watermark, where there is any."""
        columns = [mark.column for mark in self.declared.watermarks]
        found = {c: [f.high[c] for f in files if c in f.high] for c in columns}
        return {column: max(values) for column, values in found.items() if values}

    def _put_aside(self) -> dict[str, int]:
        """Commit late rows and dead letters to their tables."""
        versions = self.task.dead_letters([*self.stages.dead, *self.stages.withdrawn])
        if not self.late:
            return versions
        target, moved = layout.late_table(self.found), tuple[DataFile, ...]()
        for table, files in self.late:
            moved = self.task.writer.move(table, files, target)
        handle = self.task.writer.commit(target, layout.late_schema(self.found), moved)
        return {**versions, target: handle.version}
