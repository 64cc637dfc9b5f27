"""Changes of an object in sealed epochs, as rows of Python values, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from floodmark.changelog import EPOCH, KIND, RowKind
from floodmark.errors import DataError
from floodmark.scalar.types import BIGINT, VARCHAR, Field, Schema
from floodmark.session.inspect.sizes import STORED
from floodmark.storage.files.imported_files import with_epoch
from floodmark.storage.files.pruning import prune
from floodmark.storage.plain_files import open_parquet
from floodmark.storage.table import Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.current import no_changes_error, unwritten
from floodmark.tables.results import python_rows
from floodmark.warehouse.warehouse import Warehouse

_HEAD: Schema = (Field(EPOCH, BIGINT), Field(KIND, VARCHAR))

ShownChange = tuple[str, tuple[Any, ...]]
"""A row kind (`+I`, `-U`, `+U`, `-D`) and the visible values of a row."""


@dataclass(frozen=True)
class EpochChanges:
    """Some changes of an object in one epoch, in the columns that the object has now."""

    epoch: int
    now: datetime
    columns: Schema
    changes: tuple[ShownChange, ...]


def check_retention(obj: AnalysedObject, after: int, warehouse: Warehouse) -> None:
    """Raise E0413 if some of the changes after an epoch have expired."""
    oldest = warehouse.retention_record.kept_epochs().oldest
    if after + 1 < oldest and not obj.append_only:
        raise DataError(
            "E0413",
            f"the changes of {obj.name} after epoch {after} are not kept any more",
            hint=f"the oldest epoch that is kept is {oldest}: read {obj.name} at epoch "
            f"{oldest} and its changes after that",
        )


def find_watchable(name: str, warehouse: Warehouse) -> AnalysedObject:
    """Return an object that has changes of its own; E0376 for a sink or a plain view."""
    obj = warehouse.deployed().find(name)
    if obj.kind not in STORED:
        raise no_changes_error(obj)
    if obj.period:
        raise unwritten(obj)
    return obj


def position(obj: AnalysedObject, warehouse: Warehouse) -> int:
    """Return the last sealed epoch that the object has taken part in; 0 for none."""
    record = warehouse.cut().records.get(obj.key)
    return 0 if record is None else record.position


def changes_after(
    obj: AnalysedObject, after: int, until: int, warehouse: Warehouse
) -> Iterator[EpochChanges]:
    """Yield the changes of the sealed epochs after one up to another, some rows at a time."""
    record = warehouse.cut().records.get(obj.key)
    table = layout.current_table(obj) if obj.append_only else layout.changes_table(obj)
    version = None if record is None else record.versions.get(table)
    if version is None:
        return
    handle = warehouse.store.open(table, version)
    for epoch in range(after + 1, until + 1):
        for rows in _epoch_changes(obj, handle, epoch, warehouse):
            now = warehouse.log.open_record(epoch).now
            yield EpochChanges(epoch, now, obj.relation.visible, rows)


def _epoch_changes(
    obj: AnalysedObject, handle: Handle, epoch: int, warehouse: Warehouse
) -> Iterator[tuple[ShownChange, ...]]:
    import pyarrow as pa

    shown = obj.relation.visible
    columns = (*(_HEAD[:1] if obj.append_only else _HEAD), *shown)
    names, piece = [f.name for f in columns], warehouse.limits.watch_piece
    files = prune(handle, None, {EPOCH: (epoch, epoch)})
    for file, path in zip(files, warehouse.store.paths(handle, files), strict=True):
        for batch in open_parquet(path).iter_batches(piece, columns=names):
            rows = with_epoch(pa.Table.from_batches([batch]), file).select(names)
            changes = tuple(_changes(obj, epoch, python_rows(rows, columns)))
            if changes:
                yield changes


def _changes(
    obj: AnalysedObject, epoch: int, rows: tuple[tuple[Any, ...], ...]
) -> Iterator[ShownChange]:
    for row in rows:
        if row[0] == epoch:
            yield (RowKind.INSERT.value, row[1:]) if obj.append_only else (row[1], row[2:])
