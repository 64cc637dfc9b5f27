"""The rows of one statement, written as files before the epoch that takes them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from floodmark.catalog.catalog import unknown_object
from floodmark.catalog.objects import catalog_name
from floodmark.catalog.refused import refusal_of_object
from floodmark.errors import DataError
from floodmark.query.dml.copying import CopySource, as_copy_result
from floodmark.query.dml.plan_dml import Dml, PlannedDml, RowsEffect, plan_dml
from floodmark.query.dml.returning import returning_result
from floodmark.query.dml.rows import check_rows, count_nested_nulls, dml_frame
from floodmark.query.query import Reader
from floodmark.sql import statements as s
from floodmark.storage.files.statement_files import StatementFiles
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.refusals import refuse_opaque
from floodmark.tables.results import Result
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.warehouse import Warehouse

Writing = Dml | s.CopyFrom


@dataclass(frozen=True)
class DmlResult:
    """The written rows of a statement: the entry for the epoch log, None for no rows; its result.

    `reads` are the objects that its rows were computed from.
    """

    target: AnalysedObject
    files: StatementFiles
    entry: Mapping[str, Any] | None
    result: Result
    reads: frozenset[str] = frozenset()

    def discard(self) -> None:
        """Remove the files, because no epoch will take the rows in."""
        self.files.discard()


def target_of(statement: Writing, deployed: Deployed) -> AnalysedObject:
    """Return the object that a statement changes; an unknown one is E0201.

    What a refused one would take in cannot be told: it raises the refusal.
    """
    key, objects = catalog_name(statement.table), deployed.pipeline.objects
    if key not in objects:
        raise unknown_object(key, objects, statement.table.span)
    target = objects[key]
    if target.refused is not None:
        raise refusal_of_object(target.object, target.refused)
    refuse_opaque(target, objects)
    return target


def write_rows(
    statement: Writing, target: AnalysedObject, warehouse: Warehouse, reader: Reader, start: int
) -> DmlResult:
    """Write the rows that a statement results in, numbered from `start` on; nothing is logged.

    If the statement is refused, no files are left.
    """
    if isinstance(statement, s.CopyFrom):
        return _write_copy(statement, target, warehouse, reader, start)
    return _write_statement(statement, target, warehouse, reader, start)


def _write_copy(
    statement: s.CopyFrom, target: AnalysedObject, warehouse: Warehouse, reader: Reader, start: int
) -> DmlResult:
    copying = CopySource.from_statement(statement, target, reader)
    files, lasting = StatementFiles.new(warehouse.objects, target.key), copying.lasting()
    if lasting is None:
        try:
            insert, reader = copying.as_insert(reader, files.url)
            written = _write_statement(insert, target, warehouse, reader, start, counted=True)
        finally:
            files.discard()
        return replace(written, result=as_copy_result(written.result))
    try:
        rows = lasting.write(files.url, start)
        check_rows(lasting.nulls, target, statement.span)
    except BaseException:
        files.discard()
        raise
    entry = {"table": target.key, "paths": files.paths(), "rows": rows, "start": start}
    return DmlResult(target, files, entry if rows else None, as_copy_result(Result(rowcount=rows)))


def _write_statement(
    statement: Dml,
    target: AnalysedObject,
    warehouse: Warehouse,
    reader: Reader,
    start: int,
    *,
    counted: bool = False,
) -> DmlResult:
    """Write the rows of a statement; `counted` ones have their number from 0 on already."""
    plan = plan_dml(statement, target, reader)
    files, beside = (StatementFiles.new(warehouse.objects, target.key) for _ in range(2))
    reader = reader.bringing(beside.url)
    try:
        with warehouse.sessions().guard():
            dml_frame(plan, target, reader, start, counted=counted).write.parquet(files.url)
            return _write_checked(statement, plan, target, reader, files, start)
    except BaseException as error:
        files.discard()
        if isinstance(error, DataError):
            error.with_span(statement.span)
        raise
    finally:
        beside.discard()


def _write_checked(
    statement: Dml,
    plan: PlannedDml,
    target: AnalysedObject,
    reader: Reader,
    files: StatementFiles,
    start: int,
) -> DmlResult:
    footers = files.footers()
    paths = [f.path for f in footers]
    if plan.effect is not RowsEffect.DELETE:
        nulls = {c: sum(f.nulls.get(c, 0) for f in footers) for f in footers for c in f.nulls}
        check_rows(nulls | count_nested_nulls(paths, target), target, statement.span)
    written = sum(f.rows for f in footers)
    rows = written // 2 if plan.effect is RowsEffect.MOVE else written
    entry = {"table": target.key, "paths": paths, "rows": written, "start": start}
    word = type(statement).__name__.upper()
    status = f"{word} {'0 ' if word == 'INSERT' else ''}{rows}"
    shown = returning_result(plan, target, reader, paths) or Result()
    result = replace(shown, rowcount=rows, status=status)
    return DmlResult(target, files, entry if written else None, result, plan.reads)
