"""Commits that another program made to a table's Delta files: taken in as DML.

The files that it added and removed say which rows it changed. They are written as the rows of a
statement; the epoch that takes them in first puts the table's own files back, and then changes the
rows as any statement does, so that everything downstream follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from floodmark.catalog.objects import Kind, Relation
from floodmark.changelog import WEIGHT, ChangelogMode
from floodmark.errors import DataError, FloodmarkError, TransientError
from floodmark.plan import nodes as n
from floodmark.plan.build.row_changes import with_generated
from floodmark.query.dml.planned import columns_of_table, replaces
from floodmark.query.dml.rows import check_rows, nested_nulls, numbered
from floodmark.query.query import Reader
from floodmark.spark.types import ident
from floodmark.storage.epoch_log import dml_of
from floodmark.storage.statement_files import StatementFiles
from floodmark.storage.table import Handle, Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.tables import foreign_refused, own_commit
from floodmark.warehouse.suspensions import suspend
from floodmark.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_RELATION = "__foreign"
_AT = "__part"


def changed_tables(warehouse: Warehouse, keys: Collection[str] | None = None) -> list[str]:
    """Return the tables, of `keys` or all, that another program has changed since their epoch.

    Asks no Spark, and of a table that nobody touched one file name.
    """
    return [found.key for found, _ in _changed(warehouse, keys)]


def _changed(
    warehouse: Warehouse, keys: Collection[str] | None
) -> Iterator[tuple[AnalysedObject, tuple[Handle, Handle] | FloodmarkError]]:
    """Yield each table with its handles as its epoch left it, and as it is now.

    Of one that cannot be read, why.
    """
    records, suspended = warehouse.cut().records, warehouse.log.suspended()
    for found in warehouse.deployed().pipeline.stored:
        if found.kind is not Kind.TABLE or found.relation.external or found.key in suspended:
            continue
        if keys is not None and found.key not in keys:
            continue
        record, table = records.get(found.key), layout.current_table(found)
        if record is None or table not in record.versions:
            continue
        try:
            handles = _handles(warehouse.store, table, record.versions[table])
        except TransientError:
            raise
        except FloodmarkError as error:
            yield found, error
        else:
            if handles is not None:
                yield found, handles


def _handles(store: Store, table: str, version: int) -> tuple[Handle, Handle] | None:
    """Return a table as its epoch left it, and as it is now; None where nobody changed it since."""
    pinned = store.settled(table, version)
    newest = store.open(table)
    if newest.version <= pinned:
        return None
    history = store.history(table, pinned)
    if not any(i["data_change"] and not own_commit(i["metadata"]) for i in history):
        return None
    before = store.open(table, pinned)
    same = {f.path for f in before.files} == {f.path for f in newest.files}
    return None if same else (before, newest)


def entries(warehouse: Warehouse, keys: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Write what other programs have changed as rows of statements; return them for the log.

    A table whose rows cannot be taken in is suspended (E0427), and one that cannot be read. The
    lease is held.
    """
    out = []
    for found, handles in _changed(warehouse, keys):
        try:
            if isinstance(handles, FloodmarkError):
                raise handles
            with warehouse.sessions().guard():
                out.append(_entry(warehouse, found, *handles))
        except TransientError:
            raise
        except FloodmarkError as error:
            suspend(warehouse, found.key, error)
    return out


def _entry(
    warehouse: Warehouse, found: AnalysedObject, before: Handle, after: Handle
) -> dict[str, Any]:
    if after.schema != before.schema:
        raise _refused(found, before, "its columns were changed")
    tables, cut = warehouse.tables, warehouse.cut()
    reader = Reader(tables, warehouse.deployed().pipeline, cut, warehouse.clock.now(), {})
    start = warehouse.log.positions().get(dml_of(found.key), {}).get(0, 0)
    stored = StatementFiles.new(warehouse.objects, found.key)
    frame = _changes(reader, found, before, after)
    numbered(frame, found, start, at=_AT).write.parquet(stored.url)
    files = stored.footers()
    paths = [f.path for f in files]
    nulls = {c: sum(f.nulls.get(c, 0) for f in files) for f in files for c in f.nulls}
    for column in found.relation.primary_key:
        if nulls.get(column):
            raise _refused(found, before, f'a row has no value of the key column "{column}"')
    try:
        check_rows(nulls | nested_nulls(paths, found), found)
    except FloodmarkError as error:
        raise _refused(found, before, error.message) from None
    rows = sum(f.rows for f in files)
    return {
        "table": found.key, "paths": paths, "rows": rows, "start": start, "undoes": after.version
    }  # fmt: skip


def _changes(reader: Reader, found: AnalysedObject, before: Handle, after: Handle) -> DataFrame:
    """Return the rows that went as deletes, then those that came."""
    columns = layout.row_schema(found)
    known, present = {f.path for f in before.files}, {f.path for f in after.files}
    gone = [f for f in before.files if f.path not in present]
    come = [f for f in after.files if f.path not in known]
    empty = reader.empty(columns)
    old = reader.tables.read(before, columns, gone) if gone else None
    new = reader.tables.read(after, columns, come) if come else None
    old, new = (empty if old is None else old), (empty if new is None else new)
    added, removed = new.exceptAll(old), old.exceptAll(new)
    if found.append_only:
        if not removed.isEmpty():
            raise _refused(found, before, "rows of an APPEND ONLY table were changed")
    elif replaces(found):
        key = found.relation.stream_key
        keys = added.selectExpr(*(f"{ident(c)} AS __key{i}" for i, c in enumerate(key)))
        same = " AND ".join(f"{ident(c)} <=> __key{i}" for i, c in enumerate(key))
        from pyspark.sql import functions as F

        removed = removed.join(keys, F.expr(same), "left_anti")
    frame = _computed(reader, found, added).selectExpr(
        *(ident(f.name) for f in columns), f"CAST(1 AS INT) AS {WEIGHT}", f"1 AS {_AT}"
    )
    return removed.selectExpr("*", f"CAST(-1 AS INT) AS {WEIGHT}", f"0 AS {_AT}").unionAll(frame)


def _computed(reader: Reader, found: AnalysedObject, rows: DataFrame) -> DataFrame:
    """Return rows with their generated columns computed anew: the other program knows none."""
    columns = columns_of_table(found)
    if not any(c.generated is not None for c in columns):
        return rows
    schema = layout.row_schema(found)
    relation = Relation(_RELATION, Kind.VIEW, schema, (), ChangelogMode.APPEND_ONLY)
    over = reader.with_rows(relation, lambda: rows)
    scan = n.Scan(_RELATION, schema, (), ChangelogMode.APPEND_ONLY)
    return over.frame(with_generated(scan, columns))


def _refused(found: AnalysedObject, before: Handle, why: str) -> DataError:
    return foreign_refused(
        f"what another program wrote into {before.table} after version {before.version} "
        f"cannot be taken in: {why}",
        f"restore the table to version {before.version} and resume {found.name}",
    )
