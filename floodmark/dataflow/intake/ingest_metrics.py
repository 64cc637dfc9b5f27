"""Metrics of ingested rows, counted during the write: the number of rows and their highest times.

File statistics have both for stored rows. For rows that are not stored, only these metrics do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from floodmark.changelog import ERROR
from floodmark.dataflow.intake.source import DEAD
from floodmark.errors import IntakeCode
from floodmark.plan.declaration import Declaration
from floodmark.scalar.functions.intervals import datetime_of
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.columns import ROUTE
from floodmark.spark.round_trips import new_observation
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS, _DROPPED = "rows", "dropped"
_TIMES = (Kind.TIMESTAMP, Kind.TIMESTAMPTZ)


class IngestCounts:
    """A count on the way: known once the frame that `observe` returns has been written."""

    def __init__(self, declared: Declaration | None, lacks: Sequence[str] = ()) -> None:
        """Count rows, times and values of what files seem to lack; undeclared, those alone."""
        types = {} if declared is None else {c.name: c.type for c in declared.columns}
        marks = () if declared is None else declared.watermarks
        self._marks = {mark.column: types[mark.column] for mark in marks}
        self._all = declared is not None
        self._lacks = lacks
        self._observed = new_observation()

    def observe(self, frame: DataFrame, dropped: str = "FALSE") -> DataFrame:
        """Return routed rows, counted when they are computed; dead ones move no watermark.

        `dropped` is the text of which are left out.
        """
        from pyspark.sql import functions as F

        of_rows = {_ROWS: "count(*)", _DROPPED: f"count_if({dropped})"} if self._all else {}
        counts = [
            *(F.expr(text).alias(name) for name, text in of_rows.items()),
            *(
                F.expr(f"max(CASE WHEN {ROUTE} <> {DEAD} THEN {_number_text(c, t)} END)").alias(
                    _high(i)
                )
                for i, (c, t) in enumerate(self._marks.items())
            ),
            *(F.expr(f"count_if({_has(c)})").alias(_values(i)) for i, c in enumerate(self._lacks)),
        ]
        return frame.observe(self._observed, *counts)

    @property
    def rows(self) -> int:
        """Return how many rows came."""
        return int(self._observed.get.get(_ROWS) or 0)

    @property
    def dropped_count(self) -> int:
        """Return how many of them were left out."""
        return int(self._observed.get.get(_DROPPED) or 0)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Return which of the columns that files seemed to lack have no value."""
        metrics = self._observed.get
        return tuple(c for i, c in enumerate(self._lacks) if not metrics.get(_values(i)))

    @property
    def highs(self) -> dict[str, Any]:
        """Return the highest value of each column with a watermark, where there is any."""
        metrics = self._observed.get
        values = ((c, t, metrics.get(_high(i))) for i, (c, t) in enumerate(self._marks.items()))
        return {
            column: _value(value, type_) for column, type_, value in values if value is not None
        }


def _has(column: str) -> str:
    """Return the text of whether a row has a value in a column, or does not parse and names it."""
    named = quote(f'"{column.lower()}"')
    corrupt = f"{ERROR}.code = {IntakeCode.CORRUPT.value} AND contains(lower({ERROR}.row), {named})"
    return f"{ident(column)} IS NOT NULL OR coalesce({corrupt}, FALSE)"


def _values(number: int) -> str:
    return f"values_{number}"


def _high(number: int) -> str:
    return f"high_{number}"


def _number_text(column: str, type_: SqlType) -> str:
    name = ident(column)
    return f"unix_micros(CAST({name} AS TIMESTAMP_LTZ))" if type_.kind in _TIMES else name


def _value(value: Any, type_: SqlType) -> Any:
    if type_.kind not in _TIMES:
        return value
    return datetime_of(int(value), zoned=type_.kind is Kind.TIMESTAMPTZ)
