"""Tumble: adds the fixed window that holds the time column; NULL times have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.windows import end_of, first_of, from_micros, to_micros
from floodmark.plan import nodes as n
from floodmark.scalar.functions.intervals import length_micros
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.tumble import StreamTumble

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _columns(node: n.Tumble) -> list[str]:
    time = node.input.field(node.time)
    size, offset = length_micros(node.size), length_micros(node.offset)
    since = f"({to_micros(ident(node.time), time.type)})"
    start = f"{since} - pmod({since} - {offset}, {size})"
    return [
        f"{from_micros(first_of(start), time.type)} AS {ident(node.start)}",
        f"{from_micros(end_of(start, size), time.type)} AS {ident(node.end)}",
    ]


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
