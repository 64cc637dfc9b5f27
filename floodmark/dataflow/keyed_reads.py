"""Keyed reads: the rows of a table that have keys of the epoch's changes, read once for all views.

One pass over the table gives the rows before and after the epoch, with all columns that any plan
reads. They are written beside the states of the object that asks first. Their files tell how many
there are: nothing is joined where there are none, and Spark broadcasts what is small.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.dataflow.inputs import EpochInputs
from floodmark.dataflow.key_sets import (
    ChangedValues,
    FoundValues,
    KeyedRead,
    Sources,
)
from floodmark.dataflow.key_sources import equal_columns
from floodmark.dataflow.stages import ObjectStages
from floodmark.plan import nodes as n
from floodmark.scalar.types import Schema
from floodmark.spark import keyed
from floodmark.spark.columns import ROUTE
from floodmark.spark.deadline import hold
from floodmark.spark.types import ident
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.table import DataFile
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.bounds import enclosing
from floodmark.tables.bounds import FileFilter, file_bounds
from floodmark.tables.keyed_rows import KEY, KeyColumn, Scratch, make_narrow
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STAYS, _GOES, _COMES = 0, 1, 2
"""Routes: rows before and after the epoch, those before alone, those after alone."""


@dataclass(frozen=True)
class KeyedRows:
    """The rows that a read has found: the paths of their files, by route, and what these hold."""

    columns: Schema
    paths: Mapping[int, tuple[str, ...]]
    files: tuple[DataFile, ...]

    def file_column(self, column: str) -> FileColumn:
        """Return where the values of a column are written."""
        return FileColumn(column, tuple(path for paths in self.paths.values() for path in paths))

    def load(
        self, inputs: EpochInputs, names: Sequence[str], *, after: bool | None
    ) -> DataFrame | None:
        """Return columns of the rows before or `after` the epoch, of both for None.

        None when there are none.
        """
        moved = {True: (_COMES,), False: (_GOES,), None: (_GOES, _COMES)}[after]
        paths = [path for route in (_STAYS, *moved) for path in self.paths.get(route, ())]
        if not paths:
            return None
        return inputs.tables.read_paths(paths, self.columns).selectExpr(*map(ident, names))


@dataclass(frozen=True)
class _Plans:
    """What the plans of a pipeline read: a scan of each object, and which columns they compare.

    `equal` has by column the columns that joins compare with it, one for each join.
    """

    scans: Mapping[str, n.Scan]
    equal: Mapping[tuple[str, str], Sequence[tuple[str, str]]]

    def comparable(self, object_: str, column: str) -> set[tuple[str, str]]:
        """Return a column, and those that some join compares with it."""
        return {(object_, column), *self.equal.get((object_, column), ())}


class KeyedReads:
    """The keyed reads of one epoch: who asks first does one, the others wait for it.

    Views that advance side by side ask from threads of their own. `alone` is the plan that asks
    where the others of the pipeline do not.
    """

    def __init__(self, alone: StreamPlan | None = None) -> None:
        self._alone = alone
        self._lock = threading.Lock()
        self._gates: dict[KeyedRead, threading.Lock] = {}
        self._rows_by_read: dict[KeyedRead, KeyedRows | None] = {}
        self._numbers = itertools.count(1)
        self._plans: _Plans | None = None

    def plans(self, inputs: EpochInputs) -> _Plans:
        """Return what the plans of the pipeline read."""
        with self._lock:
            if self._plans is None:
                plans = [obj.plan for obj in inputs.objects.values()]
                asking = plans if self._alone is None else [self._alone]
                self._plans = _survey([plan for plan in asking if plan is not None])
            return self._plans

    def equals(self, inputs: EpochInputs, object_: str, column: str) -> Sources:
        """Return changes whose values some plan compares with those of an object's column.

        Those with the fewest rows, as long as reading by their keys pays.
        """
        equal = self.plans(inputs).comparable(object_, column)
        counted = sorted((inputs.count_changes(o), o, c) for o, c in equal if inputs.has_changes(o))
        sums = itertools.accumulate(rows for rows, _, _ in counted)
        fits = (self.pays(inputs, object_, column, rows) for rows in sums)
        return frozenset(
            ChangedValues(o, c) for (_, o, c), pays in zip(counted, fits, strict=True) if pays
        )

    def is_shared(self, inputs: EpochInputs, object_: str, column: str) -> bool:
        """Tell whether several joins can read an object by a column."""
        return len(self.plans(inputs).equal.get((object_, column), ())) > 1

    def pays(self, inputs: EpochInputs, object_: str, column: str, rows: int) -> bool:
        """Tell whether an object is to be read by a column that has one of so many values.

        It is to be one that has many more values. It has no more than objects have rows of which a
        column that some plan compares with it is the only key, and no more than lie between whole
        numbers. Where neither is known, a value may be that of most rows.
        """
        factor = inputs.limits.keyed_factor
        equal = self.plans(inputs).comparable(object_, column)
        keyed_by = [o for o, c in equal if inputs.objects[o].relation.stream_key == (c,)]
        most = [inputs.rows_at_rest(o) for o in keyed_by]
        between = inputs.whole_numbers(object_, column)
        most += [] if between is None else [between]
        return not factor or (any(most) and rows * factor <= min(most))

    def rows(self, read: KeyedRead, inputs: EpochInputs, stages: ObjectStages) -> KeyedRows | None:
        """Return the rows of a read; None where it does not pay to look for its keys.

        It is done in the epoch of the object that asks first, whose stages keep the rows.
        """
        with self._lock:
            # Of those that are done alone: two that wait for one another would wait for ever.
            done = [known for known, rows in list(self._rows_by_read.items()) if rows is not None]
            read = next((known for known in done if _covers(known, read)), read)
            gate = self._gates.setdefault(read, threading.Lock())
        with hold(gate):
            if read not in self._rows_by_read:
                name = f"keyed{next(self._numbers)}"
                self._rows_by_read[read] = _Reading(self, inputs, stages).rows(read, name)
            return self._rows_by_read[read]

    def values(
        self, sources: Sources, inputs: EpochInputs, stages: ObjectStages
    ) -> KeyColumn | None:
        """Return the values of sources; None where it does not pay to find them."""
        return _Reading(self, inputs, stages).values(sources)


@dataclass(frozen=True)
class _Reading:
    """One object's part in the keyed reads of an epoch."""

    reads: KeyedReads
    inputs: EpochInputs
    stages: ObjectStages

    def rows(self, read: KeyedRead, name: str) -> KeyedRows | None:
        """Read a table by keys, in one query."""
        scan = self.reads.plans(self.inputs).scans[read.object]
        if self.inputs.objects[read.object].period:
            return None
        keys: dict[str, KeyColumn] = {}
        for column, sources in read.keys:
            values = self.values(sources)
            if values is None:
                return None
            if not self.reads.pays(self.inputs, read.object, column, values.rows):
                return None
            if values.frame is None:
                return KeyedRows(scan.columns, {}, ())
            keys[column] = values
        table, writer = self.stages.table(name), self.stages.writer
        rows = route_rows(self.inputs, scan, keys, self.stages.scratch)
        routed = {} if rows is None else writer.write_routed(table, rows)
        paths = {route: tuple(writer.paths(table, files)) for route, files in routed.items()}
        return KeyedRows(scan.columns, paths, tuple(f for files in routed.values() for f in files))

    def values(self, sources: Sources) -> KeyColumn | None:
        """Return the values of sources; None where it does not pay to find them."""
        parts = [self._source_values(source) for source in sources]
        known = [part for part in parts if part is not None]
        frames = [part.frame for part in known if part.frame is not None]
        if len(known) < len(parts):
            return None
        if not frames:
            return KeyColumn()
        some = [part for part in known if part.frame is not None]
        ends = enclosing([part.ends for part in some])
        rows = sum(part.rows for part in some)
        written = [part.written for part in some]
        places = None if None in written else tuple(c for part in written for c in part or ())
        return KeyColumn(reduce(lambda a, b: a.unionAll(b), frames), rows, ends, places)

    def _source_values(self, source: ChangedValues | FoundValues) -> KeyColumn | None:
        inputs, column = self.inputs, source.column
        if isinstance(source, FoundValues):
            found = self.reads.rows(source.read, inputs, self.stages)
            if found is None:
                return None
            rows, files = found.load(inputs, [column], after=None), found.files
            lie, count = file_bounds(files, [column]) or {}, rows_of(files)
            written: FileColumn | None = found.file_column(column)
        else:
            scan = self.reads.plans(inputs).scans[source.object]
            changes = inputs.changes(scan)
            rows = None if changes is None else changes.frame
            lie, count = inputs.bounds(scan) or {}, inputs.count_changes(source.object)
            written = inputs.file_column(source.object, column)
        if rows is None:
            return KeyColumn()
        values = rows.selectExpr(f"{ident(column)} AS {KEY}")
        return KeyColumn(values, count, lie.get(column), None if written is None else (written,))


def _covers(known: KeyedRead, read: KeyedRead) -> bool:
    """Tell whether a read finds all rows of another one: it looks for at least its keys."""
    if known.object != read.object or len(known.keys) != len(read.keys):
        return False
    pairs = zip(known.keys, read.keys, strict=True)
    return all(mine == theirs and keys >= asked for (mine, keys), (theirs, asked) in pairs)


def route_rows(
    inputs: EpochInputs, scan: n.Scan, keys: Mapping[str, KeyColumn], scratch: Scratch
) -> DataFrame | None:
    """Return the rows with keys before and after the epoch, each once, with their route.

    Rows that were there before are those after without those that came, and with those that went.
    """
    names = [ident(name) for name in scan.names]
    filled = inputs.columns_without_null(scan)
    narrow, keeps = make_narrow(scan.columns, keys, filled, scratch), _keeper(keys)
    after, changes = inputs.rows_after(scan, keeps, narrow), inputs.changes(scan)
    parts = []
    if after is not None:
        rows = after
        if changes is not None:
            come = changes.frame.where(f"{WEIGHT} > 0")
            rows = keyed.anti_join(rows, come, scan.stream_key, few=True, filled=filled)
        parts.append(rows.selectExpr(*names, f"{_STAYS} AS {ROUTE}"))
    if changes is not None:
        rows = narrow.rows(changes.frame)
        route = f"CASE WHEN {WEIGHT} > 0 THEN {_COMES} ELSE {_GOES} END AS {ROUTE}"
        parts.append(rows.selectExpr(*names, route))
    return reduce(lambda a, b: a.unionAll(b), parts) if parts else None


def _keeper(keys: Mapping[str, KeyColumn]) -> FileFilter:
    """Return the test whether a file can hold rows with keys, by its statistics."""
    within = {c: values.ends for c, values in keys.items() if values.ends is not None}

    def keeps(file: DataFile) -> bool:
        lie = file_bounds((file,), list(within)) or {}
        return all(within[c][0] <= high and low <= within[c][1] for c, (low, high) in lie.items())

    return keeps


def _survey(plans: Sequence[StreamPlan]) -> _Plans:
    """Return what some plans read."""
    scans: dict[str, n.Scan] = {}
    for scan in (scan for plan in plans for scan in n.scans(plan.root)):
        before = scans.get(scan.object, scan).columns
        columns = {f.name: f for f in (*before, *scan.columns)}
        scans[scan.object] = replace(scan, columns=tuple(columns.values()))
    return _Plans(scans, equal_columns(plans))
