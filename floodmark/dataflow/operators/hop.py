"""Hop: repeats each row for every window that holds its time column; a NULL time is in none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.windows import repeat
from floodmark.plan import nodes as n
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.hop import StreamHop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
