"""COPY: the rows of a file into a table, and a query as a file.

If the table computes no columns, the rows are written directly in the form of the log. Otherwise a
COPY is an INSERT … SELECT of the file's rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.catalog.objects import ObjectKind, Relation, catalog_name
from floodmark.changelog import ROW_ID, WEIGHT, ChangelogMode
from floodmark.connectors.copy.file import CopyFile, copy_file
from floodmark.connectors.copy.output import write_rows
from floodmark.connectors.copy.rows import pieces
from floodmark.connectors.copy.values import TypesByName
from floodmark.dataflow.merge.merge import DML_ORDINAL
from floodmark.plan.build.targets import not_writable
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.query.dml.plan_dml import ORDINAL_FIELD, check_target, columns_of_table
from floodmark.query.query import Reader
from floodmark.query.staging import stage_rows, write_pieces
from floodmark.query.static_rows import check_static
from floodmark.scalar.types import Field
from floodmark.spark.round_trips import fetch
from floodmark.spark.session import Sessions
from floodmark.spark.user_functions import arrow_type, to_arrow
from floodmark.sql import statements as s
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.results import Result
from floodmark.tables.row_ids import first_row_id

if TYPE_CHECKING:
    import pyarrow as pa

COPIED = "__copied"
"""The relation of the rows of a file."""


@dataclass
class CopySource:
    """A COPY … FROM: its file and table; `given` are the columns of the file, once known."""

    statement: s.CopyFrom
    target: AnalysedObject
    file: CopyFile
    given: set[str]

    @classmethod
    def from_statement(
        cls, statement: s.CopyFrom, target: AnalysedObject, reader: Reader
    ) -> CopySource:
        """Return the COPY of a statement; raises E0426, E0707, and errors for a wrong target."""
        check_target(statement, target)
        check_static(target, reader, statement.table.span)
        writable = [c.name for c in columns_of_table(target) if c.generated is None]
        for name, span in zip(statement.columns, statement.column_spans, strict=True):
            if name not in writable:
                raise not_writable(name, columns_of_table(target), span)
        file = copy_file(statement.path, statement.options, statement.span, reader.tables.limits)
        return cls(statement, target, file, set())

    @property
    def types(self) -> TypesByName:
        """Return the columns that can be written."""
        return {c.name: c.type for c in columns_of_table(self.target) if c.generated is None}

    def rows(self) -> Iterator[pa.Table]:
        """Yield the rows in pieces, numbered from 0 on. Raises E0424 and E0425."""
        import pyarrow as pa

        start = 0
        for piece in pieces(self.file, self.types, self.statement.columns, self.given):
            numbers = pa.array(range(start, start + piece.num_rows), pa.int64())
            yield piece.append_column(DML_ORDINAL, numbers)
            start += piece.num_rows

    def lasting(self) -> LoggedCopy | None:
        """Return a writer of the rows in the log's form; None if Spark has to compute columns."""
        columns = columns_of_table(self.target)
        if any(c.generated is not None for c in columns):
            return None
        defaults = {c.name: c.default for c in columns if c.default is not None}
        named = bool(self.statement.columns) or self.file.format != "json"
        if not all(isinstance(d, Literal) for d in defaults.values()) or (defaults and not named):
            return None
        return LoggedCopy(self, defaults)

    def as_insert(self, reader: Reader, folder: str) -> tuple[s.Insert, Reader]:
        """Return an INSERT … SELECT, and a reader that has the rows; many go to `folder`.

        Columns that the file does not have get their defaults.
        """
        types, statement = self.types, self.statement
        schema = (*(Field(name, type_) for name, type_ in types.items()), ORDINAL_FIELD)
        frame = stage_rows(
            self._fill_columns(), schema, reader.tables.spark, folder, self.file.limits
        )
        shown = [name for name in types if name in self.given]
        relation = Relation(COPIED, ObjectKind.VIEW, schema, (), ChangelogMode.APPEND_ONLY)
        # The count goes along.
        items = [exp.column(name, quoted=True) for name in (*shown, DML_ORDINAL)]
        from_ = exp.From(this=exp.Table(this=exp.to_identifier(COPIED, quoted=True)))
        insert = s.Insert(
            table=statement.table,
            columns=tuple(shown),
            column_spans=(statement.span,) * len(shown),
            query=exp.Select(expressions=items, from_=from_),
            span=statement.span,
        )
        return insert, reader.with_rows(relation, lambda: frame)

    def _fill_columns(self) -> Iterator[pa.Table]:
        """Yield the rows with all columns that can be written."""
        import pyarrow as pa

        names = (*self.types, DML_ORDINAL)
        for piece in self.rows():
            for name, type_ in self.types.items():
                if name not in piece.column_names:
                    piece = piece.append_column(name, pa.nulls(piece.num_rows, arrow_type(type_)))
            yield piece.select(names)


@dataclass
class LoggedCopy:
    """The rows of a COPY in the log's form; `nulls` counts NULLs per column during the writing."""

    copying: CopySource
    defaults: dict[str, Expr]

    def __post_init__(self) -> None:
        self.nulls = Counter[str]()

    def write(self, folder: str, start: int) -> int:
        """Write the rows, numbered from `start` on, into files; return how many."""
        return write_pieces(
            self._log_rows(start), folder, self.copying.file.limits.staged_file_rows
        )

    def _log_rows(self, start: int) -> Iterator[pa.Table]:
        from pyarrow import compute as pc

        for piece in self.copying.rows():
            named = {f.name: self._column(piece, f) for f in self.copying.target.relation.visible}
            yield self._with_hidden(named, pc.add(piece.column(DML_ORDINAL), start))

    def _column(self, piece: pa.Table, column: Field) -> pa.Array | pa.ChunkedArray:
        import pyarrow as pa

        rows, type_ = piece.num_rows, arrow_type(column.type)
        default = self.defaults.get(column.name)
        if column.name in piece.column_names:
            values = piece.column(column.name)
        elif isinstance(default, Literal) and default.value is not None:
            value = to_arrow(default.value, column.type)
            values = pa.repeat(pa.scalar(value, type_), rows)
        else:
            values = pa.nulls(rows, type_)
        self.nulls[column.name] += values.null_count
        return values

    def _with_hidden(self, named: dict[str, pa.Array], ordinals: pa.ChunkedArray) -> pa.Table:
        import pyarrow as pa
        from pyarrow import compute as pc

        if any(f.name == ROW_ID for f in self.copying.target.relation.columns):
            named[ROW_ID] = pc.bit_wise_or(ordinals, first_row_id(0))
        named[WEIGHT] = pa.repeat(pa.scalar(1, pa.int32()), len(ordinals))
        return pa.table({**named, DML_ORDINAL: ordinals})


def copy_to(statement: s.CopyTo, reader: Reader, sessions: Sessions) -> Result:
    """Write the rows of a query to a file; return how many.

    Generated columns of a table are left out, so that COPY … FROM can read the file back.
    """
    file = copy_file(statement.path, statement.options, statement.span, reader.tables.limits)
    node = reader.plan(_query_stored_columns(statement, reader), statement.span)
    with sessions.guard():
        rows = fetch(reader.frame(node))
    write_rows(file, node.schema, rows)
    return Result(rowcount=rows.num_rows, status=f"COPY {rows.num_rows}")


def _query_stored_columns(statement: s.CopyTo, reader: Reader) -> exp.Expression:
    """Return the query, of a table without the columns that it computes."""
    key = "" if statement.table is None else catalog_name(statement.table)
    obj = reader.pipeline.objects.get(key)
    if obj is None or obj.kind is not ObjectKind.TABLE:
        return statement.query
    computed = {c.name for c in columns_of_table(obj) if c.generated is not None}
    if not computed or not isinstance(statement.query, exp.Select):
        return statement.query
    kept = [f.name for f in obj.relation.visible if f.name not in computed]
    columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in kept]
    return statement.query.select(*columns, append=False)


def as_copy_result(result: Result) -> Result:
    """Return the result of an INSERT as that of a COPY."""
    return replace(result, status=f"COPY {result.rowcount}")
