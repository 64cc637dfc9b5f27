"""What an object emitted, read from its tables at rest, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from floodmark.changelog import ADDED, EPOCH, KIND, RowKind
from floodmark.connectors.copy.file import CopyFile
from floodmark.connectors.copy.rows import read_rows
from floodmark.limits import LIMITS
from floodmark.reference.rows import canonical
from floodmark.scalar.types import BIGINT, VARCHAR, Field, Schema
from floodmark.storage.files.imported_files import is_delivered, with_epoch
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.external_sink import ExternalSink
from floodmark.tables import layout
from floodmark.tables.results import python_rows
from floodmark.testing.text import TextRow

ByEpoch = Mapping[int, list[TextRow]]


@dataclass(frozen=True)
class ObjectOutput:
    """Everything that one object emitted, by epoch, and its final rows.

    A row of `dead` has one value, the code of its error; it is a -D where one is taken back.
    """

    changes: ByEpoch
    late: ByEpoch
    dead: ByEpoch
    rows: tuple[tuple[Any, ...], ...]


def read_output(store: Store, obj: AnalysedObject) -> ObjectOutput:
    """Return what a source, table, materialized view or sink has emitted up to its last commit."""
    if obj.external_sink is not None:
        return ObjectOutput(_sink_output(obj.external_sink), {}, _dead(store, obj), ())
    shown = obj.relation.visible
    current = _current(store, obj)
    late = _table_rows(store, layout.late_table(obj), (*shown, Field(EPOCH, BIGINT)))
    if obj.append_only:
        changes = _inserts(current)
    else:
        head = (Field(EPOCH, BIGINT), Field(KIND, VARCHAR))
        rows = _table_rows(store, layout.changes_table(obj), (*head, *shown))
        changes = _group_by_epoch((epoch, RowKind(kind), tuple(row)) for epoch, kind, *row in rows)
    return ObjectOutput(
        changes, _inserts(late), _dead(store, obj), tuple(row[:-1] for row in current)
    )


def _sink_output(sink: ExternalSink) -> ByEpoch:
    """Return what a sink has written into its files; of rows alone, as inserts."""
    types = {f.name: f.type for f in sink.written_columns}
    out: list[tuple[int, RowKind, tuple[Any, ...]]] = []
    for path in sorted(sink.path.glob(f"[!_.]*.{sink.encode}")):
        epoch = int(path.stem.split("-")[-2])
        file = CopyFile(path, sink.encode, sink.header, sink.delimiter, limits=LIMITS)
        for row in python_rows(read_rows(file, types, []), sink.written_columns):
            kind, values = (row[0], row[1:]) if sink.op else ("+I", row)
            out.append((epoch, RowKind(kind), tuple(values)))
    return _group_by_epoch(out)


def _current(store: Store, obj: AnalysedObject) -> list[tuple[Any, ...]]:
    """Return the rows, with their epochs: those of the table under the newest of its layer."""
    shown = obj.relation.visible
    columns = (*shown, Field(EPOCH, BIGINT))
    layer = layout.layer_table(obj)
    if not store.exists(layer):
        return _table_rows(store, layout.current_table(obj), columns)
    key = tuple(f for f in obj.relation.columns if f.name in obj.relation.stream_key)
    wide = (*key, *columns)

    def row_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(canonical, row[: len(key)]))

    rows = {row_key(row): row for row in _table_rows(store, layout.current_table(obj), wide)}
    folded = store.open(layout.current_table(obj)).transaction(layout.fold_of(obj)) or 0
    changes = _table_rows(store, layer, (*wide, Field(KIND, VARCHAR)))
    newest = sorted(changes, key=lambda row: (row[-2], row[-1] in ADDED))
    for row in [row for row in newest if row[-2] > folded]:
        rows.pop(row_key(row), None)
        if row[-1] in ADDED:
            rows[row_key(row)] = row[:-1]
    return [row[len(key) :] for row in rows.values()]


def _dead(store: Store, obj: AnalysedObject) -> ByEpoch:
    """Return the dead letters and those taken back, less what cancels out in its epoch."""
    rows = _table_rows(store, layout.dead_letter_table(obj), layout.DEAD_LETTER)
    sums: Counter[tuple[Any, ...]] = Counter()
    for epoch, weight, error in rows:
        sums[epoch, error["code"], error["expression"], error["row"]] += weight
    out: list[tuple[int, RowKind, tuple[Any, ...]]] = []
    for (epoch, code, *_), weight in sums.items():
        kind = RowKind.INSERT if weight > 0 else RowKind.DELETE
        out += [(epoch, kind, (f"E{code:04}",))] * abs(weight)
    return _group_by_epoch(out)


def _inserts(rows: Iterable[tuple[Any, ...]]) -> ByEpoch:
    return _group_by_epoch((row[-1], RowKind.INSERT, row[:-1]) for row in rows)


def _group_by_epoch(rows: Iterable[tuple[int, RowKind, tuple[Any, ...]]]) -> ByEpoch:
    out: dict[int, list[TextRow]] = {}
    for epoch, kind, values in rows:
        out.setdefault(epoch, []).append((kind, values))
    return out


def _table_rows(store: Store, table: str, columns: Schema) -> list[tuple[Any, ...]]:
    if not store.exists(table):
        return []
    handle = store.open(table)
    names = [f.name for f in columns]
    out: list[tuple[Any, ...]] = []
    for file, path in zip(handle.files, store.paths(handle, handle.files), strict=True):
        stored = [c for c in dict.fromkeys(names) if c != EPOCH or not is_delivered(file)]
        data = pq.read_table(path, columns=stored, partitioning=None)
        out += python_rows(with_epoch(data, file).select(names), columns)
    return out
