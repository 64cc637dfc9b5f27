"""Commits that another program made to a table's Delta files: taken in as DML.

The added and removed files of the published table show which rows were changed. These are written
as the rows of a statement. The epoch that takes them in changes the rows like any statement, so
that everything downstream follows, and then publishes them: the foreign commits are undone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from floodmark.catalog.objects import ObjectKind, Relation
from floodmark.changelog import WEIGHT, ChangelogMode
from floodmark.errors import DataError, FloodmarkError, TransientError
from floodmark.plan import nodes as n
from floodmark.plan.build.row_changes import with_generated
from floodmark.query.dml.plan_dml import columns_of_table, replaces
from floodmark.query.dml.rows import check_rows, count_nested_nulls, number_rows
from floodmark.query.query import Reader
from floodmark.spark.types import ident
from floodmark.storage.files.statement_files import StatementFiles
from floodmark.storage.logs.epochs import dml_of
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.publication import (
    ForeignCommits,
    foreign_commits,
    publication_schema,
    takes_in,
)
from floodmark.tables.tables import foreign_rows_error
from floodmark.warehouse.suspensions import suspend
from floodmark.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_RELATION = "__foreign"
_AT, _PLACE, _KEPT, _OLD = "__part", "__place", "__kept", "__old_"


def tables_with_changes(warehouse: Warehouse, keys: Collection[str] | None = None) -> list[str]:
    """Return the tables, of `keys` or all, that another program has changed since their epoch.

    Needs no Spark, and looks for one file name per unchanged table.
    """
    return [obj.key for obj, _ in _find_changes(warehouse, keys)]


def _find_changes(
    warehouse: Warehouse, keys: Collection[str] | None
) -> Iterator[tuple[AnalysedObject, ForeignCommits | FloodmarkError]]:
    """Yield each table with what others have done to it; of one that cannot be read, why."""
    records, suspended = warehouse.cut().records, warehouse.suspensions()
    for obj in warehouse.deployed().pipeline.writing_objects:
        if not takes_in(obj) or obj.key in suspended:
            continue
        if keys is not None and obj.key not in keys:
            continue
        record, table = records.get(obj.key), layout.current_table(obj)
        if record is None or table not in record.versions:
            continue
        try:
            warehouse.store.settle(table, record.versions[table])
            commits = foreign_commits(warehouse.store, obj)
        except TransientError:
            raise
        except FloodmarkError as error:
            yield obj, error
        else:
            if commits is not None and commits.changes_data:
                yield obj, commits


def entries(warehouse: Warehouse, keys: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Write what other programs have changed as rows of statements; return them for the log.

    A table whose rows cannot be taken in is suspended (E0427), and one that cannot be read. The
    lease is held.
    """
    out = []
    for obj, commits in _find_changes(warehouse, keys):
        try:
            if isinstance(commits, FloodmarkError):
                raise commits
            with warehouse.sessions().guard():
                out.append(_entry(warehouse, obj, commits))
        except TransientError:
            raise
        except FloodmarkError as error:
            suspend(warehouse, obj.key, error)
    return out


def _entry(warehouse: Warehouse, obj: AnalysedObject, commits: ForeignCommits) -> dict[str, Any]:
    shown = commits.shown
    if shown.schema != warehouse.store.open(shown.table, commits.own).schema:
        raise _refusal(obj, commits, "its columns were changed")
    tables, cut = warehouse.tables, warehouse.cut()
    reader = Reader(tables, warehouse.deployed().pipeline, cut, warehouse.clock.now(), {})
    start = warehouse.log.positions().get(dml_of(obj.key), {}).get(0, 0)
    stored = StatementFiles.new(warehouse.objects, obj.key)
    frame = _changes(reader, obj, commits)
    number_rows(frame, obj, start, at=_AT).write.parquet(stored.url)
    files = stored.footers()
    paths = [f.path for f in files]
    nulls = {c: sum(f.nulls.get(c, 0) for f in files) for f in files for c in f.nulls}
    for column in obj.relation.primary_key:
        if nulls.get(column):
            raise _refusal(obj, commits, f'a row has no value of the key column "{column}"')
    try:
        check_rows(nulls | count_nested_nulls(paths, obj), obj)
    except FloodmarkError as error:
        raise _refusal(obj, commits, error.message) from None
    rows = sum(f.rows for f in files)
    return {
        "table": obj.key, "paths": paths, "rows": rows, "start": start, "undoes": shown.version
    }  # fmt: skip


def _changes(reader: Reader, obj: AnalysedObject, commits: ForeignCommits) -> DataFrame:
    """Return the rows that went as deletes, then those that came."""
    columns, empty = layout.row_schema(obj), reader.empty(layout.row_schema(obj))
    known = {f.path for f in commits.rows.files}
    present = {f.path for f in commits.shown.files}
    gone = [f for f in commits.rows.files if f.path not in present]
    come = [f for f in commits.shown.files if f.path not in known]
    old = reader.tables.read(commits.rows, columns, gone) if gone else None
    new = reader.tables.read(commits.shown, columns, come) if come else None
    old, new = (empty if old is None else old), (empty if new is None else new)
    added, removed = _surplus(old, new, obj), _surplus(new, old, obj)
    if obj.append_only:
        if not removed.isEmpty():
            raise _refusal(obj, commits, "rows of an APPEND ONLY table were changed")
    elif replaces(obj):
        key = obj.relation.stream_key
        keys = added.selectExpr(*(f"{ident(c)} AS __key{i}" for i, c in enumerate(key)))
        same = " AND ".join(f"{ident(c)} <=> __key{i}" for i, c in enumerate(key))
        from pyspark.sql import functions as F

        removed = removed.join(keys, F.expr(same), "left_anti")
    frame = _compute_generated(reader, obj, added).selectExpr(
        *(ident(f.name) for f in columns), f"CAST(1 AS INT) AS {WEIGHT}", f"1 AS {_AT}"
    )
    return removed.selectExpr("*", f"CAST(-1 AS INT) AS {WEIGHT}", f"0 AS {_AT}").unionAll(frame)


def _compute_generated(reader: Reader, obj: AnalysedObject, rows: DataFrame) -> DataFrame:
    """Return rows with their generated columns computed anew: the other program knows none."""
    columns = columns_of_table(obj)
    if not any(c.generated is not None for c in columns):
        return rows
    schema = layout.row_schema(obj)
    relation = Relation(_RELATION, ObjectKind.VIEW, schema, (), ChangelogMode.APPEND_ONLY)
    over = reader.with_rows(relation, lambda: rows)
    scan = n.Scan(_RELATION, schema, (), ChangelogMode.APPEND_ONLY)
    return over.frame(with_generated(scan, columns))


def _surplus(old: DataFrame, new: DataFrame, obj: AnalysedObject) -> DataFrame:
    """Return the rows of `new` that `old` has not, or not as often: by the columns others see.

    Rows that another program has written anew, and left as they are, lack the columns of the
    engine.
    """
    from pyspark.sql import Window, functions as F

    shown = [f.name for f in publication_schema(obj)]
    if set(old.columns) == set(shown):
        return new.exceptAll(old)
    window = Window.partitionBy(*map(ident, shown)).orderBy(*(ident(c) for c in new.columns))
    numbered = new.withColumn(_PLACE, F.row_number().over(window))
    kept = old.groupBy(*map(ident, shown)).agg(F.count("*").alias(_KEPT))
    same = " AND ".join(f"{ident(c)} <=> {ident(_OLD + c)}" for c in shown)
    renamed = kept.selectExpr(*(f"{ident(c)} AS {ident(_OLD + c)}" for c in shown), _KEPT)
    joined = numbered.join(renamed, F.expr(same), "left")
    return joined.where(f"{_PLACE} > coalesce({_KEPT}, 0)").select(*map(ident, new.columns))


def _refusal(obj: AnalysedObject, commits: ForeignCommits, why: str) -> DataError:
    return foreign_rows_error(
        f"what another program wrote into {commits.shown.table} after version {commits.own} "
        f"cannot be taken in: {why}",
        f"restore the table to version {commits.own} and resume {obj.name}",
    )
