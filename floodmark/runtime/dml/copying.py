"""COPY: a file as an INSERT … SELECT of its rows, and a query as a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.catalog.objects import Kind, Relation, qualified
from floodmark.catalog.types import Field
from floodmark.changelog import ChangelogMode
from floodmark.connectors.copied import copy_file
from floodmark.connectors.copied_out import write_rows
from floodmark.connectors.copied_rows import read_rows
from floodmark.plan.writable import not_writable
from floodmark.runtime.dml.planned import ORDINAL_FIELD, check_target, columns_of_table
from floodmark.runtime.dml.staged import staged
from floodmark.runtime.operators.merge import DML_ORDINAL
from floodmark.runtime.query import Reader
from floodmark.runtime.results import Result
from floodmark.spark.session import Sessions
from floodmark.sql import statements as s

COPIED = "__copied"
"""The relation of the rows of a file."""


def as_insert(
    statement: s.CopyFrom, target: AnalysedObject, reader: Reader, folder: Path
) -> tuple[s.Insert, Reader]:
    """Return COPY … FROM as an INSERT … SELECT, and a reader that has the file's rows.

    They are counted from 0 on, and go to `folder` where there are many. Columns that the file does
    not have get their defaults. Raises E0424 to E0426.
    """
    import pyarrow as pa

    check_target(statement, target)
    types = {c.name: c.type for c in columns_of_table(target) if c.generated is None}
    for name, span in zip(statement.columns, statement.column_spans, strict=True):
        if name not in types:
            raise not_writable(name, columns_of_table(target), span)
    file = copy_file(statement.path, statement.options, statement.span)
    rows = read_rows(file, types, statement.columns)
    shown = rows.column_names
    rows = rows.append_column(DML_ORDINAL, pa.array(range(rows.num_rows), pa.int64()))
    schema = (*(Field(name, types[name]) for name in shown), ORDINAL_FIELD)
    relation = Relation(COPIED, Kind.VIEW, schema, tuple(types)[:0], ChangelogMode.APPEND_ONLY)
    spark = reader.tables.spark
    with_file = reader.with_rows(relation, lambda: staged(rows, schema, spark, folder))
    # The count goes along.
    items = [exp.column(name, quoted=True) for name in rows.column_names]
    from_ = exp.From(this=exp.Table(this=exp.to_identifier(COPIED, quoted=True)))
    insert = s.Insert(
        table=statement.table,
        columns=tuple(shown),
        column_spans=(statement.span,) * len(shown),
        query=exp.Select(expressions=items, from_=from_),
        span=statement.span,
    )
    return insert, with_file


def copy_to(statement: s.CopyTo, reader: Reader, sessions: Sessions) -> Result:
    """Write the rows of a query to a file; return how many.

    Of a table its generated columns are left out: COPY … FROM takes the file back.
    """
    file = copy_file(statement.path, statement.options, statement.span)
    node = reader.plan(_stored_of(statement, reader), statement.span)
    with sessions.guarded():
        rows = reader.frame(node).toArrow()
    write_rows(file, node.schema, rows)
    return Result(rowcount=rows.num_rows, status=f"COPY {rows.num_rows}")


def _stored_of(statement: s.CopyTo, reader: Reader) -> exp.Expression:
    """Return the query, of a table without the columns that it computes."""
    key = "" if statement.table is None else qualified(statement.table)
    found = reader.pipeline.objects.get(key)
    if found is None or found.kind is not Kind.TABLE:
        return statement.query
    computed = {c.name for c in columns_of_table(found) if c.generated is not None}
    if not computed or not isinstance(statement.query, exp.Select):
        return statement.query
    kept = [f.name for f in found.relation.visible if f.name not in computed]
    columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in kept]
    return statement.query.select(*columns, append=False)


def copied(result: Result) -> Result:
    """Return the result of an INSERT as that of a COPY."""
    return replace(result, status=f"COPY {result.rowcount}")
