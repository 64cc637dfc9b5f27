"""A table with watermarks in an epoch: late rows and dead letters go aside.

Each row of the connector is compared with the watermark as it is read. All rows of a statement or
sink are compared with one watermark, and do not hold it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

from floodmark import failpoints
from floodmark.changelog import WEIGHT
from floodmark.dataflow.intake import source
from floodmark.dataflow.intake.source import LateFilter
from floodmark.dataflow.intake.watermark_filter import (
    WRITERS,
    add_route,
    discard_expired,
    keep_route,
)
from floodmark.dataflow.merge import merge
from floodmark.dataflow.stages import ObjectStages
from floodmark.epochs.objects.object_advance import TablePart
from floodmark.epochs.objects.table_merge import Operations
from floodmark.epochs.objects.watermarks import CONNECTOR, DML, SINK, Marks
from floodmark.scalar.types import Schema
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.types import ident
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import DataFile
from floodmark.stream.properties.bounds import hull
from floodmark.tables import layout
from floodmark.tables.cutoff import Cutoff
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WrittenFiles = tuple[str, tuple[DataFile, ...]]
"""The table into whose folder files were written, and the files."""


@dataclass
class WatermarkedTable(TablePart):
    """A table with watermarks in one epoch; `late` are the late rows of its connector."""

    stages: ObjectStages
    late: list[WrittenFiles] = field(default_factory=list)
    highs: dict[str, dict[str, Any]] = field(default_factory=dict)
    aside_of_sinks: int = 0

    def find_earlier_record(self) -> ObjectRecord | None:
        """Return the record of an earlier attempt that has stored all of the epoch."""
        return self.advance.writer.find_record(layout.current_table(self.obj))

    def late_filter(self) -> LateFilter:
        """Return the condition for late rows of the connector."""
        return LateFilter(self.declaration.watermarks, self.advance.marks.bounds(CONNECTOR))

    def add_routed_files(self, table: str, files: Mapping[int, tuple[DataFile, ...]]) -> None:
        """Take in the written files of the connector's rows, by route."""
        routes = [files.get(route, ()) for route in (source.GOOD, source.LATE)]
        self.highs[CONNECTOR] = self._highs([file for chosen in routes for file in chosen])
        if routes[1]:
            self.late.append((table, routes[1]))

    def drop_late(self, operations: Sequence[Operations], columns: Schema) -> list[Operations]:
        """Return the operations without late rows, for a table whose rows change.

        A late row of a table WITH TTL becomes a delete of its key, because the newest row of the
        key is not visible. Late rows of the connector were removed before.
        """
        out = [o for o in operations if o.partition == CONNECTOR]
        rest = [o for o in operations if o.partition != CONNECTOR]
        if not rest:
            return out
        table, key = layout.state_table(self.obj, "judged"), layout.merge_key(self.obj)
        frames = [
            (o.partition, merge.number_operations(o.frame, columns, key, o.tie)) for o in rest
        ]
        files = self._write_routed(table, frames, passed=merge.PLACE)
        self._take(table, files)
        for i, (partition, _) in enumerate(frames):
            if partition.startswith(SINK):
                aside = (files.get(WRITERS * i + r, ()) for r in (source.LATE, source.DEAD))
                self.aside_of_sinks += sum(map(rows_of, aside))
        fields = (*columns, WEIGHT_FIELD, *merge.PLACE_FIELDS)
        good = self.stages.read_scratch(table, self._files_of_route(files, source.GOOD), fields)
        late = self.stages.read_scratch(table, self._files_of_route(files, source.LATE), fields)
        parts = [] if good is None else [good]
        if late is not None and self.declaration.ttl_column is not None:
            weight = f"{merge.OUTDATED} AS {WEIGHT}"
            names = [weight if f.name == WEIGHT else ident(f.name) for f in fields]
            parts.append(late.selectExpr(*names))
        within = hull([o.within for o in rest])
        return [*out, *(Operations(part, within, DML) for part in parts)]

    def marks_after(self) -> Marks:
        """Return the watermarks at the end of the epoch, after all rows."""
        marks = self.advance.marks.raise_by(self.highs)
        return marks.close_epoch(self.obj.key in self.advance.input.exhausted)

    @property
    def late_rows(self) -> int:
        """Return how many rows are late."""
        return sum(rows_of(part) for _, part in self.late)

    def commit_late_rows(self) -> dict[str, int]:
        """Commit late rows to their table."""
        if not self.late:
            return {}
        target, moved = layout.late_table(self.obj), tuple[DataFile, ...]()
        for table, files in self.late:
            moved = self.advance.writer.move(table, files, target)
        handle = self.advance.writer.commit(target, layout.late_schema(self.obj), moved)
        return {target: handle.version}

    def _take(self, table: str, files: Mapping[int, tuple[DataFile, ...]]) -> None:
        """Take in what goes aside of written rows."""
        self.late += [(table, part) for part in self._parts(files, source.LATE)]
        for part in self._parts(files, source.DEAD):
            self.stages.add_dead_letters(table, part)

    def append(
        self,
        operations: Sequence[tuple[str, DataFrame]],
        rows_in: int,
        asked: Mapping[str, int],
        cutoff: Cutoff | None,
    ) -> ObjectRecord:
        """Write and commit the rows of each partition; the table itself is committed last."""
        advance, table = self.advance, layout.current_table(self.obj)
        files = self._write_routed(table, operations, cutoff)
        failpoints.reach("files_written")
        good = self._files_of_route(files, source.GOOD)
        self._take(table, files)
        over = rows_of(self._files_of_route(files, source.NOTHING))
        marks = self.marks_after()
        record = ObjectRecord(
            self.obj.key,
            {**advance.versions_before(), **self.stages.versions, **self._commit_side_tables()},
            rows_in=rows_in + self._count_sink_rows(operations, files),
            rows_out=rows_of(good),
            late_rows=self.late_rows,
            dead_rows=self.stages.dead_rows,
            watermarks=marks.visible,
            **marks.record_fields,
            asked=asked,
            due=self.stages.first_due,
            expired_rows=over,
        )
        record = advance.writer.commit_last(table, layout.current_schema(self.obj), good, record)
        failpoints.reach("sink_committed")
        return record

    def _count_sink_rows(
        self,
        operations: Sequence[tuple[str, DataFrame]],
        files: Mapping[int, tuple[DataFile, ...]],
    ) -> int:
        """Return how many rows sinks brought."""
        sinks = [i for i, (partition, _) in enumerate(operations) if partition.startswith(SINK)]
        return sum(rows_of(part) for r, part in files.items() if r // WRITERS in sinks)

    def _write_routed(
        self,
        table: str,
        operations: Sequence[tuple[str, DataFrame]],
        cutoff: Cutoff | None = None,
        passed: Sequence[str] = (),
    ) -> dict[int, tuple[DataFile, ...]]:
        """Write all rows in one job, each partition under routes of its own."""
        if not operations:
            return {}
        columns, epoch = layout.row_schema(self.obj), self.advance.input.epoch
        at = (epoch, self.advance.now)
        marks = self.advance.marks
        frames = [
            keep_route(frame, columns, epoch)
            if partition == CONNECTOR
            else add_route(frame, columns, self.declaration, marks.bounds(partition), at, i, passed)
            for i, (partition, frame) in enumerate(operations)
        ]
        frame = reduce(lambda a, b: a.unionAll(b), frames)
        if cutoff is not None:
            frame = discard_expired(frame, columns, cutoff)
        files = self.advance.writer.write_routed(table, frame)
        for i, (partition, _) in enumerate(operations):
            if partition != CONNECTOR:
                routes = (source.GOOD, source.LATE, source.NOTHING)
                mine = [file for r in routes for file in files.get(WRITERS * i + r, ())]
                self.highs[partition] = self._highs(mine)
        return files

    def _parts(
        self, files: Mapping[int, tuple[DataFile, ...]], route: int
    ) -> list[tuple[DataFile, ...]]:
        """Return the files of a route, writer by writer."""
        return [chosen for r, chosen in files.items() if r % WRITERS == route]

    def _files_of_route(
        self, files: Mapping[int, tuple[DataFile, ...]], route: int
    ) -> tuple[DataFile, ...]:
        return tuple(file for part in self._parts(files, route) for file in part)

    def _highs(self, files: Sequence[DataFile]) -> dict[str, Any]:
        """Return the highest time of each column with a watermark, where there is any."""
        columns = [mark.column for mark in self.declaration.watermarks]
        found = {c: [f.high[c] for f in files if c in f.high] for c in columns}
        return {column: max(values) for column, values in found.items() if values}

    def _commit_side_tables(self) -> dict[str, int]:
        """Commit late rows and dead letters to their tables."""
        versions = self.advance.dead_letters([*self.stages.dead, *self.stages.withdrawn])
        return {**versions, **self.commit_late_rows()}
