"""DEFAULT for a generated column, the only value that an INSERT … VALUES may give it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from floodmark.plan.bind.assignment import is_default
from floodmark.plan.build.targets import not_writable
from floodmark.plan.declaration import ColumnInfo
from floodmark.sql import statements as s
from floodmark.sql.constant_rows import cell_at, rows_of
from floodmark.sql.nodes import ConstantRows
from floodmark.sql.parse import parse_value

ExprRows = list[list[exp.Expression]]
T = TypeVar("T")


def without_generated(statement: s.Insert, columns: Sequence[ColumnInfo]) -> s.Insert:
    """Return an INSERT of VALUES without the generated columns of which all rows say DEFAULT.

    Raises E0707 where some rows say DEFAULT and others a value.
    """
    generated = {c.name for c in columns if c.generated is not None}
    names = statement.columns or tuple(c.name for c in columns)
    if not isinstance(statement.query, exp.Values) or generated.isdisjoint(names):
        return statement
    rows = _rows(statement.query, statement)
    width = len(rows[0])
    places = [i for i, name in enumerate(names[:width]) if name in generated]
    if not places or any(len(row) != width for row in rows):
        return statement
    for i in places:
        said = {is_default(row[i]) for row in rows}
        if said == {False}:
            return statement
        if len(said) == 2:
            raise not_writable(names[i], columns, statement.table.span)
    query = statement.query.copy()
    query.set("expressions", [exp.Tuple(expressions=_drop_places(row, places)) for row in rows])
    kept = _drop_places(names[:width], places)
    spans = _drop_places(statement.column_spans, places) if statement.columns else ()
    return replace(
        statement,
        query=query,
        columns=tuple(kept),
        column_spans=tuple(spans) or (statement.table.span or statement.span,) * len(kept),
    )


def _rows(query: exp.Values, statement: s.Insert) -> ExprRows:
    """Return the values of each row; those of many constants are read where they stand."""
    first = query.expressions[0]
    if not isinstance(first, ConstantRows):
        return [list(row.expressions) for row in query.expressions]
    source, offset = statement.span, int(first.meta["start"])
    text = source.source or ""
    out: ExprRows = []
    for start, texts in rows_of(first.name):
        cells = (cell_at(first.name, start, i) for i in range(len(texts)))
        out.append([parse_value(text, source.file, offset + a, offset + b) for a, b in cells])
    return out


def _drop_places(items: Sequence[T], places: Collection[int]) -> list[T]:
    return [item for i, item in enumerate(items) if i not in places]
