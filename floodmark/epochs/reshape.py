"""Changes of stored columns: ALTER … ADD, DROP and RENAME COLUMN on tables with rows.

They are made once, before the epoch from which the new definition is in force. The tables' history
shows what an earlier attempt has done.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace

from floodmark import failpoints
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.types import Schema
from floodmark.spark.expressions import compile
from floodmark.spark.types import ident, spark_type
from floodmark.storage.files.imported_files import is_delivered
from floodmark.storage.logs.epochs import ObjectRecord, OpenRecord
from floodmark.storage.table import Handle, Store, refuse_other_record
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.tables import RESHAPE, Tables
from floodmark.warehouse.row_reuse import RowReuse


def reshape(
    store: Store,
    tables: Callable[[], Tables],
    pair: tuple[AnalysedObject, AnalysedObject],
    how: RowReuse,
    record: ObjectRecord,
    opened: OpenRecord,
) -> ObjectRecord:
    """Give the tables of an object the columns of its new definition; return their versions.

    `pair` is the object before and after, `record` that of the epoch before; Spark is asked for
    where rows have to be written anew. `opened` is the epoch.
    """
    versions = dict(record.versions)
    for table, (before, after) in _shapes(pair).items():
        if table not in versions:
            continue
        done = _find_version(store, table, versions[table], opened)
        if done is None:
            done = _commit_shape(store.open(table), tables, (before, after), how, opened)
            failpoints.reach("reshaped")
        versions[table] = done
    return replace(record, versions=versions)


def _shapes(pair: tuple[AnalysedObject, AnalysedObject]) -> Mapping[str, tuple[Schema, Schema]]:
    """Return the columns of an object's tables before and after."""
    kinds = {
        layout.current_table: layout.current_schema,
        layout.changes_table: layout.changes_schema,
        layout.layer_table: layout.layer_schema,
        layout.late_table: layout.late_schema,
    }
    old, new = pair
    return {table(new): (schema(old), schema(new)) for table, schema in kinds.items()}


def _find_version(store: Store, table: str, version: int, opened: OpenRecord) -> int | None:
    """Return the version at which an earlier attempt has left a table; E0433 for another epoch."""
    for info in store.history(table, version):
        metadata = info["metadata"]
        if metadata.get("maintenance") == RESHAPE and metadata.get("epoch") == opened.epoch:
            refuse_other_record(table, opened.epoch, metadata.get("record"), opened.id)
            return int(info["version"])
    return None


def _commit_shape(
    handle: Handle,
    tables: Callable[[], Tables],
    shapes: tuple[Schema, Schema],
    how: RowReuse,
    opened: OpenRecord,
) -> int:
    (before, after), epoch, now = shapes, opened.epoch, micros_of(opened.now)
    anew = how.gone or how.former_names or how.filled or any(map(is_delivered, handle.files))
    store = tables().store
    metadata = {"maintenance": RESHAPE, "epoch": epoch, "record": opened.id}
    if not anew or not handle.files:
        done = store.commit(handle, metadata=metadata, data_change=False, schema=after)
        return done.version
    frame = tables().read(handle, before)
    assert frame is not None
    attempt = secrets.randbelow(10**9) + 1
    texts = [_value(f.name, spark_type(f.type), how, now) for f in after]
    frame.selectExpr(*texts).write.mode("append").parquet(store.stage(handle.table, epoch, attempt))
    failpoints.reach("files_written")
    done = store.commit(
        handle,
        adds=store.list_stage(handle.table, epoch, attempt),
        removes=handle.files,
        metadata=metadata,
        data_change=False,
        schema=after,
    )
    return done.version


def _value(name: str, type_: str, how: RowReuse, now: int) -> str:
    """Return the text of a column of a row at rest."""
    stored = how.stored.get(name, name)
    if stored:
        return f"{ident(stored)} AS {ident(name)}"
    filled = how.filled.get(name)
    value = "NULL" if filled is None else compile(filled, now).value
    return f"CAST({value} AS {type_}) AS {ident(name)}"
