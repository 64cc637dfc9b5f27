"""Folding: the layer of changes over an object's rows goes into its table, after a seal.

Readers through the engine see no difference. Other readers of the table then see the rows as of
this epoch.
"""

from __future__ import annotations

import secrets

from floodmark.changelog import EPOCH
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.current import CurrentRows
from floodmark.tables.keys import files_with_keys
from floodmark.tables.tables import FOLD, Tables, rows_of


def is_due(tables: Tables, obj: AnalysedObject, record: ObjectRecord) -> bool:
    """Tell whether a layer is large or old enough to be folded."""
    rows = _newest(tables, obj, record)
    if rows is None or not rows.layer_files:
        return False
    first = min(file.low.get(EPOCH, 0) for file in rows.layer_files)
    old = record.position - max(first, rows.fold_epoch + 1) >= tables.limits.layer_epochs - 1
    return old or rows_of(rows.layer_files) * tables.limits.layer_share > rows_of(rows.base.files)


def fold(tables: Tables, obj: AnalysedObject, record: ObjectRecord) -> int:
    """Put the layer of an object into its table; return how many files it replaced.

    `record` is the object's newest, of a sealed epoch; the lease is held.
    """
    rows = _newest(tables, obj, record)
    if rows is None or rows.layer is None or not rows.layer_files:
        return 0
    paths = tables.store.paths(rows.layer, rows.layer_files)
    touched = files_with_keys(
        rows.base, rows.layer_files, paths, obj.relation.stream_key, tables.limits
    )
    frame = rows.all_rows(tables, touched)
    assert frame is not None
    attempt = secrets.randbelow(10**9) + 1
    frame.write.mode("append").parquet(
        tables.store.stage(rows.base.table, record.position, attempt)
    )
    tables.store.commit(
        rows.base,
        adds=tables.store.list_stage(rows.base.table, record.position, attempt),
        removes=touched,
        app=layout.fold_of(obj),
        epoch=record.position,
        metadata={"maintenance": FOLD, "epoch": record.position},
    )
    return len(touched)


def _newest(tables: Tables, obj: AnalysedObject, record: ObjectRecord) -> CurrentRows | None:
    """Return the rows of a record over the newest table, which may have been merged since."""
    table, layer = layout.current_table(obj), layout.layer_table(obj)
    if layer not in record.versions:
        return None
    return CurrentRows(
        obj, tables.store.open(table), tables.store.open(layer, record.versions[layer])
    )
