"""Rows of a table WITH TTL in its watermark: those below it count as absent, for whoever reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.spark.literals import literal
from floodmark.spark.rows import constants
from floodmark.spark.types import ident
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BOUND = "floodmark__watermark"


def drop_expired(
    rows: DataFrame | None,
    obj: AnalysedObject,
    record: ObjectRecord | None,
    names: tuple[str, ...] | None = None,
) -> DataFrame | None:
    """Return the rows that are not below the watermark of a record; all where there is none.

    `names` are the columns that there are, by default those of a stored row.
    """
    declared = obj.declared
    column = None if declared is None else declared.ttl_column
    bound = None if record is None or column is None else record.watermarks.get(column)
    if rows is None or column is None or bound is None:
        return rows
    type_ = next(f.type for f in obj.relation.columns if f.name == column)
    shown = names or tuple(f.name for f in layout.current_schema(obj))
    known = rows.selectExpr("*", constants({_BOUND: literal(bound, type_)}))
    return known.where(f"{ident(column)} >= {_BOUND}").selectExpr(*map(ident, shown))
