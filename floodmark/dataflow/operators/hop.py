"""Hop: repeats each row for every window that holds its time column; a NULL time is in none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR
from floodmark.dataflow.operators.context import EpochContext, Input
from floodmark.dataflow.operators.tumble import end_of, first_of, from_micros, micros, to_micros
from floodmark.plan import nodes as n
from floodmark.scalar.functions.intervals import FIRST, LAST
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.hop import StreamHop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BACK = "__back"
"""BIGINT: how many slides before the last window that holds the time.

Of the windows that begin before the years the last one is a window, of those that end after them
the first.
"""


def delta(op: StreamHop, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes, once per window; one that a row left and one that it entered are no pair.

    A row on its way to the dead letters goes on once.
    """
    (below,) = inputs
    if below.rows is None:
        return None
    rows = replace(below.rows, has_kinds=False, extra_columns=())
    return rows.with_frame(_explode(op.node, rows.frame, rows.system_columns, failing=rows.failing))


def batch(node: n.Hop, frame: DataFrame) -> DataFrame:
    """Return the rows once per window that holds them."""
    return _explode(node, frame, [])


def _explode(
    node: n.Hop, frame: DataFrame, passed: list[str], *, failing: bool = False
) -> DataFrame:
    kept = [*map(ident, node.input.names), *passed]
    repeats = repeat(node, frame, node.time, kept, failing=failing)
    bounds = [ident(name) for name in (node.start, node.end)]
    return repeats.selectExpr(*map(ident, node.input.names), *bounds, *passed)


def repeat(
    node: n.Hop, frame: DataFrame, time: str, kept: list[str], *, failing: bool = False
) -> DataFrame:
    """Return rows, with the texts `kept`, once per window that holds the column `time`."""
    type_ = node.input.field(node.time).type
    size, slide, offset = (micros(i) for i in (node.size, node.slide, node.offset))
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
