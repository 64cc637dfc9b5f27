"""Inputs of a plan's scans in one epoch, from the versions that the cut pins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from floodmark.changelog import KIND, OWNERS, WEIGHT, RowKind
from floodmark.connectors.lookup.connector import Lookup
from floodmark.connectors.lookup.rows import lookup_of
from floodmark.dataflow.materialize import cancel
from floodmark.limits import Limits
from floodmark.plan import nodes as n
from floodmark.plan.declaration import UPPER
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.types import Schema
from floodmark.spark.rows import Rows, set_weight
from floodmark.spark.types import ident
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.walks import KnownValues, propagate
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables import bounds, layout
from floodmark.tables.bounds import FileFilter, columns_without_null
from floodmark.tables.current import current_at_cut
from floodmark.tables.cut import Cut
from floodmark.tables.cutoff import end_columns
from floodmark.tables.keyed_rows import EVERY_ROW, Narrow
from floodmark.tables.tables import Tables, rows_of
from floodmark.tables.validity_period import crossing, moving, valid_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WEIGHT_OF_KIND = f"CASE WHEN {KIND} IN ('+I', '+U') THEN 1 ELSE -1 END AS {WEIGHT}"


@dataclass(frozen=True)
class ObjectSeed:
    """Where replay-stable values come from: the warehouse's seed, the key of the plan's object."""

    seed: str = ""
    object: str = ""


_NOWHERE = ObjectSeed()


class EpochInputs:
    """The objects of a pipeline before and after one epoch, as one of them reads the others.

    With `first`, of the epochs from that one on, taken at once: they are merged.
    """

    def __init__(
        self,
        tables: Tables,
        objects: Mapping[str, AnalysedObject],
        before: Cut,
        after: Cut,
        now: datetime,
        *,
        fills: bool,
        origin: ObjectSeed = _NOWHERE,
        first: int | None = None,
        time_of: Callable[[int], datetime] | None = None,
    ) -> None:
        self.epoch = after.epoch
        self._time_of = time_of
        self._first = after.epoch if first is None else first
        self.origin = origin
        self.tables = tables
        self.spark = tables.spark
        self.objects = objects
        self.fills = fills
        self.now = micros_of(now)
        self._now = now
        self._before = before
        self._after = after
        self._due_rows = 0
        self._watermarks: dict[tuple[bool, datetime], KnownValues] = {}

    @property
    def _merges(self) -> bool:
        """Tell whether changes of several epochs are taken at once."""
        return self._first < self.epoch

    @property
    def rows(self) -> int | None:
        """Return how many rows the epoch changes at most; one that fills takes all there are."""
        if self._merges or self.fills:
            return None
        before, after = self._before.records, self._after.records
        rows = sum(r.rows_out for k, r in after.items() if r is not before.get(k))
        return rows + self._due_rows

    @property
    def few(self) -> bool:
        """Tell whether the epoch changes few rows."""
        return self.rows is not None and self.rows <= self.limits.broadcast_rows

    @property
    def limits(self) -> Limits:
        """Return the limits of the warehouse."""
        return self.tables.limits

    def fall_due(self, rows: int) -> None:
        """Count rows, at most so many, that change because of the time."""
        self._due_rows += rows

    def has_changes(self, object_: str) -> bool:
        """Tell whether the epoch changed an object's rows, or which of them are seen."""
        table = layout.current_table(self.objects[object_])
        before, after = (cut.version(object_, table) for cut in (self._before, self._after))
        return before != after or self._before.as_of(object_) != self._after.as_of(object_)

    def changes(self, scan: n.Scan) -> Rows | None:
        """Return what the epoch changed in an object; all its rows when filling.

        For merged epochs it is their net change: a row that came and went within them is none.
        """
        if self.fills:
            rows = self._initial_rows(scan)
            return None if rows is None else Rows(set_weight(rows), consolidated=True, inserts=True)
        if not self.has_changes(scan.object):
            return None
        obj = self.objects[scan.object]
        wanted = {*scan.names, *(f.name for f in obj.period)}
        written = self._own_changes(obj, wanted)
        names = [*map(ident, scan.names), WEIGHT]
        if not obj.period:
            if written is None:
                return None
            rows = written.selectExpr(*names)
            # An update of columns that a scan does not know of is none to it.
            whole = obj.append_only or len(scan.names) == len(obj.relation.columns)
            return Rows(rows, consolidated=whole, inserts=obj.append_only)
        parts = [self._crossing_rows(obj, wanted)]
        if written is not None:
            parts.append(valid_at(written, obj.period, self._after.as_of(obj.key)))
        frames = [part.selectExpr(*names) for part in parts if part is not None]
        if not frames:
            return None
        stays = all(field.name != UPPER for field in obj.period)
        return Rows(
            reduce(lambda a, b: a.unionAll(b), frames),
            consolidated=obj.append_only,
            inserts=obj.append_only and stays,
        )

    def _initial_rows(self, scan: n.Scan) -> DataFrame | None:
        """Return the rows that a view begins with.

        What came in this epoch and ends with it, below the watermark, was there for those who
        follow.
        """
        rows = current_at_cut(self.tables.store, self.objects[scan.object], self._after)
        if rows is None:
            return None
        if end_columns(rows.obj):
            before = self._before.records.get(scan.object) or ObjectRecord(scan.object, {})
            record = replace(rows.record or before, watermarks=before.watermarks)
            rows = replace(rows, record=record)
        frame = rows.visible_rows(self.tables, None, scan.names)
        return None if frame is None else frame.selectExpr(*(ident(c) for c in scan.names))

    def _own_changes(self, obj: AnalysedObject, wanted: Collection[str]) -> DataFrame | None:
        """Return what the epoch wrote of an object's changes, with their weight."""
        handle, columns = self._changes_of(obj.key)
        if obj.append_only:
            columns = tuple(field for field in columns if field.name in wanted)
        frame = self.tables.rows_of_epochs(handle, columns, self._first, self.epoch)
        if frame is None:
            return None
        if obj.append_only:
            return set_weight(frame)
        # Who holds a row changes without a change of it.
        rows = tuple(f for f in layout.row_schema(obj) if f.name != OWNERS)
        frame = frame.selectExpr(*(ident(f.name) for f in rows), _WEIGHT_OF_KIND)
        return cancel(frame, rows, obj.relation.stream_key) if self._merges else frame

    def _crossing_rows(self, obj: AnalysedObject, wanted: Collection[str]) -> DataFrame | None:
        """Return the rows that come and go because of the time alone, with their weight."""
        rows = current_at_cut(self.tables.store, obj, self._before)
        then, now = self._before.as_of(obj.key), self._after.as_of(obj.key)
        if rows is None or then is None or now is None:
            return None
        files = moving(rows.base.files, obj.period, then, now)
        stored = rows.all_rows(self.tables, files, wanted)
        return None if stored is None else crossing(stored, obj.period, then, now)

    def has_updates(self, object_: str) -> bool:
        """Tell whether the epoch may have updated rows of an object."""
        obj = self.objects[object_]
        if obj.append_only or obj.period or not self.has_changes(object_):
            return False
        handle, _ = self._changes_of(object_)
        files = self.tables.files_of_epochs(handle, self._first, self.epoch)
        return any(file.high.get(KIND) == RowKind.UPDATE_BEFORE.value for file in files)

    def bounds(self, scan: n.Scan) -> Bounds | None:
        """Return the bounds of what the epoch changed in an object, None when that is nothing."""
        if self.fills:
            return {}
        if not self.has_changes(scan.object):
            return None
        handle, _ = self._changes_of(scan.object)
        files = self.tables.files_of_epochs(handle, self._first, self.epoch)
        return bounds.file_bounds([*files, *self._moving(scan.object)], scan.names)

    def file_column(self, object_: str, column: str) -> FileColumn | None:
        """Return where the values of a column are written that the epoch's changes have.

        None where nobody knows: the time alone changes rows, too, and views begin with all.
        """
        if self.fills or self.objects[object_].period:
            return None
        handle, _ = self._changes_of(object_)
        files = self.tables.files_of_epochs(handle, self._first, self.epoch)
        return FileColumn(column, tuple(self.tables.store.paths(handle, files)))

    def _moving(self, object_: str) -> tuple[DataFile, ...]:
        """Return the files with rows that come and go because of the time alone."""
        obj = self.objects[object_]
        rows = current_at_cut(self.tables.store, obj, self._before) if obj.period else None
        then, now = self._before.as_of(object_), self._after.as_of(object_)
        if rows is None or then is None or now is None:
            return ()
        return (*moving(rows.base.files, obj.period, then, now), *rows.layer_files)

    def _changes_of(self, object_: str) -> tuple[Handle, Schema]:
        """Return the table that holds an object's changes, after the epoch, and its columns."""
        obj = self.objects[object_]
        if obj.append_only:
            table, columns = layout.current_table(obj), layout.current_schema(obj)
        else:
            table, columns = layout.changes_table(obj), layout.changes_schema(obj)
        handle = self._handle(self._after, object_, table)
        assert handle is not None
        return handle, columns

    def rows_before(
        self, scan: n.Scan, keeps: FileFilter | None = None, narrow: Narrow = EVERY_ROW
    ) -> DataFrame | None:
        """Return the object's rows before the epoch.

        `keeps` tells which files matter; `narrow` leaves rows out by their values.
        """
        return self._rows(self._before, scan, keeps, narrow)

    def rows_after(
        self, scan: n.Scan, keeps: FileFilter | None = None, narrow: Narrow = EVERY_ROW
    ) -> DataFrame | None:
        """Return the object's rows after the epoch, as `rows_before` does."""
        return self._rows(self._after, scan, keeps, narrow)

    def bytes_at_rest(self, node: n.Node) -> int:
        """Return the size of all that a plan scans."""
        cut, objects = self._after, (self.objects[scan.object] for scan in n.scans(node))
        found = (current_at_cut(self.tables.store, obj, cut) for obj in objects)
        return sum(rows.bytes_of(rows.base.files) for rows in found if rows is not None)

    def rows_at_rest(self, object_: str) -> int:
        """Return how many rows an object has at rest, but for those of its layer."""
        rows = current_at_cut(self.tables.store, self.objects[object_], self._after)
        return 0 if rows is None else rows_of(rows.base.files)

    def whole_numbers(self, object_: str, column: str) -> int | None:
        """Return how many whole numbers lie where a column's values do; None for other values."""
        rows = current_at_cut(self.tables.store, self.objects[object_], self._after)
        files = () if rows is None else rows.base.files
        ends = [end for f in files for end in (f.low.get(column), f.high.get(column))]
        numbers = [end for end in ends if isinstance(end, int)]
        if not numbers or len(numbers) < len(ends):
            return None
        return max(numbers) - min(numbers) + 1

    def columns_without_null(self, scan: n.Scan) -> frozenset[str]:
        """Return the columns that are NULL in no row before or after the epoch."""
        obj = self.objects[scan.object]
        found = (current_at_cut(self.tables.store, obj, cut) for cut in (self._before, self._after))
        parts = [files for rows in found if rows is not None for _, files in rows.parts]
        return columns_without_null([file for files in parts for file in files], scan.names)

    def count_changes(self, object_: str) -> int:
        """Return how many rows the files have in which the epoch's changes of an object are."""
        handle, _ = self._changes_of(object_)
        return rows_of(self.tables.files_of_epochs(handle, self._first, self.epoch))

    def watermark(self, operator: StreamOperator[Any], column: str, *, before: bool) -> Any:
        """Return the watermark of an operator's column, before or after the epoch."""
        return self.watermarks(operator, before=before).get(column)

    def watermarks(self, operator: StreamOperator[Any], *, before: bool = False) -> dict[str, Any]:
        """Return all watermarks of an operator's output."""
        node = operator.node
        cut = self._before if before else self._after
        scanned = {scan.object: cut.watermarks(scan.object) for scan in n.scans(node)}
        now = self._now
        if before and cut.epoch and self._time_of is not None and _goes_by_time(node):
            now = self._time_of(cut.epoch)
        known = self._watermarks.setdefault((before, now), {})
        return dict(propagate(operator, scanned, now, known))

    def lookup(self, scan: n.Scan) -> Lookup:
        """Return how an object that is kept elsewhere is asked."""
        return lookup_of(self.objects[scan.object], self.limits)

    def _rows(
        self, cut: Cut, scan: n.Scan, keeps: FileFilter | None, narrow: Narrow
    ) -> DataFrame | None:
        rows = current_at_cut(self.tables.store, self.objects[scan.object], cut)
        if rows is None:
            return None
        files = None if keeps is None else tuple(filter(keeps, rows.base.files))
        frame = rows.visible_rows(self.tables, files, scan.names, narrow)
        return None if frame is None else frame.selectExpr(*(ident(name) for name in scan.names))

    def _handle(self, cut: Cut, object_: str, table: str) -> Handle | None:
        version = cut.version(object_, table)
        return None if version is None else self.tables.open(table, version)


def _goes_by_time(node: n.Node) -> bool:
    return any(isinstance(below, n.TemporalFilter) for below in n.walk(node))
