"""Tumble: adds the fixed window that holds the time column; NULL times have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.dataflow.operators.context import EpochContext, Input
from floodmark.plan import nodes as n
from floodmark.scalar.functions.intervals import FIRST, LAST
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.tumble import StreamTumble

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DAY = 86_400_000_000


def micros(interval: n.Interval) -> int:
    """Return the length of an interval without months, in microseconds."""
    months, days, rest = interval
    assert not months
    return days * _DAY + rest


def _columns(node: n.Tumble) -> list[str]:
    time = node.input.field(node.time)
    size, offset = micros(node.size), micros(node.offset)
    since = f"({to_micros(ident(node.time), time.type)})"
    start = f"{since} - pmod({since} - {offset}, {size})"
    return [
        f"{from_micros(first_of(start), time.type)} AS {ident(node.start)}",
        f"{from_micros(end_of(start, size), time.type)} AS {ident(node.end)}",
    ]


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


def delta(op: StreamTumble, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes with their windows."""
    (below,) = inputs
    node, rows = op.node, below.rows
    if rows is None:
        return None
    columns = [ident(name) for name in node.input.names]
    return rows.with_frame(rows.frame.selectExpr(*columns, *_columns(node), *rows.system_columns))


def batch(node: n.Tumble, frame: DataFrame) -> DataFrame:
    """Return the rows with their windows."""
    return frame.selectExpr(*(ident(name) for name in node.input.names), *_columns(node))
