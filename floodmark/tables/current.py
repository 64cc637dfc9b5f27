"""The current rows of an object: its table, and the layer of changes since its last fold.

A layer is a table of files of the object's changelog. A row of the layer that is newer than the
fold replaces the table's row with its key. Older rows are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import ADDED, EPOCH, KIND
from floodmark.errors import NotSupported
from floodmark.plan.declaration import LOWER, UPPER
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.plain_files import read_parquet
from floodmark.storage.table import DataFile, Handle, Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.bounds import columns_without_null
from floodmark.tables.cut import Cut
from floodmark.tables.cutoff import end_columns, find_cutoff
from floodmark.tables.keyed_rows import EVERY_ROW, Narrow
from floodmark.tables.overlay import newest_rows, overlay
from floodmark.tables.tables import Tables, rows_of
from floodmark.tables.validity_period import valid_at
from floodmark.tables.watermark_ttl import drop_expired

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ADDS = f"{KIND} IN {ADDED}"


@dataclass(frozen=True)
class CurrentRows:
    """The rows of an object as of one version of its table and one of its layer.

    Where rows have a period, those are seen whose period holds `as_of` a time; where they end
    unheard, those that had not by the `record`.
    """

    obj: AnalysedObject
    base: Handle
    layer: Handle | None = None
    record: ObjectRecord | None = None

    @property
    def as_of(self) -> datetime | None:
        """Return the time at which rows with a period are seen."""
        return None if self.record is None else self.record.as_of

    @property
    def fold_epoch(self) -> int:
        """Return the epoch up to which the table holds everything; 0 if it was never folded."""
        return self.base.transaction(layout.fold_of(self.obj)) or 0

    @property
    def needs_definition(self) -> bool:
        """Tell whether rows at rest alone do not say which are seen, and no more is known.

        So it is with rows that have a period or end by time, and with a layer of unknown key.
        """
        if not self.obj.opaque:
            return False
        timed = {LOWER, UPPER}.intersection(f.name for f in self.obj.relation.columns)
        ends = re.search(r"\bttl(_column)?\b", self.obj.object.sql, re.IGNORECASE) is not None
        return bool(timed or ends or (self.layer_files and not self.obj.relation.stream_key))

    @property
    def layer_files(self) -> tuple[DataFile, ...]:
        """Return the files of the layer with rows that the table does not hold yet."""
        files = () if self.layer is None else self.layer.files
        return tuple(f for f in files if f.high[EPOCH] > self.fold_epoch)

    @property
    def parts(self) -> tuple[tuple[Handle, tuple[DataFile, ...]], ...]:
        """Return all files with rows, by the table that has them."""
        base = ((self.base, self.base.files),)
        return base if self.layer is None else (*base, (self.layer, self.layer_files))

    def bytes_of(self, files: Sequence[DataFile]) -> int:
        """Return the size of what a reader of some of the table's files reads."""
        return sum(file.size for file in (*files, *self.layer_files))

    def visible_rows(
        self,
        tables: Tables,
        files: Sequence[DataFile] | None = None,
        names: Collection[str] | None = None,
        narrow: Narrow = EVERY_ROW,
    ) -> DataFrame | None:
        """Return the rows, with the columns of the table at rest; None when there are none.

        `files` are those of the table that matter, rows of the layer are all there; `names` are the
        columns that matter. `narrow` leaves rows out by these.
        """
        rows = self.all_rows(tables, files, names, narrow)
        return None if rows is None else self._filter_visible(rows, names)

    def _filter_visible(self, rows: DataFrame, names: Collection[str] | None) -> DataFrame:
        """Return the rows that readers see: in their period, not over, not below the watermark."""
        obj = self.obj
        if obj.period:
            return valid_at(rows, obj.period, self.as_of)
        if not obj.relation.drops_silently or self.record is None:
            return rows
        fields = tuple(f for f in layout.current_schema(obj) if self._reads(f.name, names))
        cutoff = find_cutoff(obj, self.record)
        if cutoff is not None:
            return cutoff.lasting(rows, fields)
        shown = drop_expired(rows, obj, self.record, tuple(f.name for f in fields))
        assert shown is not None
        return shown

    def _reads(self, name: str, names: Collection[str] | None) -> bool:
        return names is None or name in names or name in end_columns(self.obj)

    def all_rows(
        self,
        tables: Tables,
        files: Sequence[DataFile] | None = None,
        names: Collection[str] | None = None,
        narrow: Narrow = EVERY_ROW,
    ) -> DataFrame | None:
        """Return all rows, including those that are not visible; see `visible_rows`."""
        if names is not None:
            names = {*names, *(f.name for f in self.obj.period), *end_columns(self.obj)}
        schema, over = layout.current_schema(self.obj), self.layer_files
        if self.layer is None or not over:
            wanted = schema if names is None else [f for f in schema if f.name in names]
            return narrow.load_rows(tables, self.base, tuple(wanted), files)
        rows = narrow.load_rows(tables, self.base, schema, files)
        layer = tables.read(self.layer, layout.layer_schema(self.obj), over)
        assert layer is not None
        few = rows_of(over) <= tables.limits.broadcast_rows
        newer = layer.where(f"{EPOCH} > {self.fold_epoch}")
        return self._overlaid(rows, newer, narrow, few=few)

    def _overlaid(
        self, rows: DataFrame | None, layer: DataFrame, narrow: Narrow, *, few: bool
    ) -> DataFrame:
        """Return rows of the table, replaced by the newest rows of the layer."""
        key = self.obj.relation.stream_key
        # What a row's key says holds for all versions of it.
        layer = narrow.select(key).rows(layer)
        names = [f.name for f in layout.current_schema(self.obj)]
        newest = narrow.rows(newest_rows(layer, names, key, _ADDS))
        filled = columns_without_null(self.base.files, key)
        return overlay(rows, layer, newest, names, key, few=few, filled=filled)


def unwritten(obj: AnalysedObject) -> NotSupported:
    """Return the error for the changes of an object that time alone makes some of."""
    return NotSupported(
        "E0376",
        f"rows of {obj.name} come and go with time, which writes no changes",
        hint=f"a materialized view over it has them: SELECT * FROM {obj.name}",
    )


def no_changes_error(obj: AnalysedObject) -> NotSupported:
    """Return the error for the changes of a sink or a plain view."""
    return NotSupported(
        "E0376",
        f"{obj.name} is a {obj.kind.value}, which stores no changes",
        hint="watch the table that it writes"
        if obj.object.target
        else "watch the relations that it reads",
    )


def current_rows(
    store: Store, obj: AnalysedObject, record: ObjectRecord | None
) -> CurrentRows | None:
    """Return an object's rows as of a record; None before it has any table."""
    versions = {} if record is None else record.versions
    table, layer = layout.current_table(obj), layout.layer_table(obj)
    if table not in versions:
        return None
    over = store.open(layer, versions[layer]) if layer in versions else None
    return CurrentRows(obj, store.open(table, versions[table]), over, record)


def current_at_cut(store: Store, obj: AnalysedObject, cut: Cut) -> CurrentRows | None:
    """Return an object's rows as of a cut; None before it has any table."""
    return current_rows(store, obj, cut.records.get(obj.key))


def count_rows(store: Store, obj: AnalysedObject, record: ObjectRecord | None) -> int | None:
    """Return how many rows an object holds as of `record`; None where it has none to hold.

    Asks no Spark: what a layer adds is counted from its files.
    """
    if obj.kind not in (ObjectKind.SOURCE, ObjectKind.TABLE, ObjectKind.MATERIALIZED_VIEW):
        return None
    rows = current_rows(store, obj, record)
    return 0 if rows is None else rows_of(rows.base.files) + _count_layer_rows(store, rows)


def _count_layer_rows(store: Store, rows: CurrentRows) -> int:
    if rows.layer is None or not rows.layer_files:
        return 0
    from pyarrow import compute as pc

    added = 0
    for path in store.paths(rows.layer, rows.layer_files):
        table = read_parquet(path, [EPOCH, KIND])
        newer = table.filter(pc.greater(table.column(EPOCH), rows.fold_epoch))
        added += sum(1 if kind in ADDED else -1 for kind in newer.column(KIND).to_pylist())
    return added
