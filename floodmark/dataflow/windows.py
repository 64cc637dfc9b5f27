"""Texts of windows: when they begin and end, and how a row is repeated for each that holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import ERROR
from floodmark.plan import nodes as n
from floodmark.scalar.functions.intervals import FIRST, LAST, length_micros
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.types import ident, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# The least and the greatest of several would be one that is not NULL.
def first_of(start: str) -> str:
    """Return the text of where a window begins, in microseconds: no earlier than the years do."""
    return f"CASE WHEN {start} < {FIRST}L THEN {FIRST}L ELSE {start} END"


def end_of(start: str, size: int) -> str:
    """Return the text of where a window ends, in microseconds: no later than the years do."""
    return f"CASE WHEN {start} > {LAST - size}L THEN {LAST}L ELSE {start} + {size} END"


def to_micros(column: str, type_: SqlType) -> str:
    """Return the text of a time as microseconds since 1970."""
    if type_.kind is Kind.TIMESTAMPTZ:
        return f"unix_micros({column})"
    return f"unix_micros(CAST({column} AS TIMESTAMP_LTZ))"


def from_micros(text: str, type_: SqlType) -> str:
    """Return the text of microseconds since 1970 as a time."""
    return f"CAST(timestamp_micros({text}) AS {spark_type(type_)})"


_BACK = "__back"
"""BIGINT: how many slides before the last window that holds the time.

Of the windows that begin before the years the last one is a window, of those that end after them
the first.
"""


def repeat(
    node: n.Hop, frame: DataFrame, time: str, kept: list[str], *, failing: bool = False
) -> DataFrame:
    """Return rows, with the texts `kept`, once per window that holds the column `time`."""
    type_ = node.input.field(node.time).type
    size, slide, offset = (length_micros(i) for i in (node.size, node.slide, node.offset))
    since = to_micros(ident(time), type_)
    past = f"pmod({since} - {offset}, {slide})"
    windows = f"({size + slide - 1} - {past}) div {slide}"
    least = f"greatest({since} - {past} + {size - 1} - {LAST}L, 0L) div {slide}"
    most = f"least({windows}, ({since} - {past} + {2 * slide - 1} - {FIRST}L) div {slide}) - 1L"
    back = f"CASE WHEN {most} >= {least} THEN sequence({least}, {most}) END"
    if failing:
        back = f"CASE WHEN {ERROR} IS NOT NULL THEN array(0L) ELSE {back} END"
    held = [] if ident(time) in kept else [ident(time)]
    exploded = frame.selectExpr(*kept, *held, f"explode({back}) AS {_BACK}")
    start = f"({since} - {past} - {_BACK} * {slide})"
    bounds = [
        f"{from_micros(first_of(start), type_)} AS {ident(node.start)}",
        f"{from_micros(end_of(start, size), type_)} AS {ident(node.end)}",
    ]
    return exploded.selectExpr(*kept, *bounds)
