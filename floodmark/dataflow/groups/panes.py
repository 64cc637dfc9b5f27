"""Panes: an aggregate over hopping windows adds up the rows of each slide, then a window's slides.

All rows of one slide are in the same windows, so that only sums are repeated for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from floodmark.dataflow.groups import accumulators as acc
from floodmark.dataflow.windows import first_of, from_micros, repeat, to_micros
from floodmark.limits import Limits
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.scalar.functions.intervals import length_micros
from floodmark.scalar.functions.model import Operand
from floodmark.scalar.types import Kind
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.accumulator_columns import NEW, ROWS
from floodmark.stream.properties.aggregate_calls import aggregate_of
from floodmark.stream.properties.strategy import Upkeep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PANE = "__pane"
"""When the slide begins in which a row's time is."""
_ADDED = (Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC)
Sums = Callable[[Sequence[str], "DataFrame"], "DataFrame"]
"""Returns what rows add to each group, given its columns."""


def pay(
    node: n.Aggregate | n.CloseAggregate,
    parts: list[acc.Accumulation],
    limits: Limits,
    *,
    many: bool,
) -> bool:
    """Tell whether sums can be taken by panes, and `many` changes make that the cheaper way."""
    windows = node.input
    if not isinstance(windows, n.Hop) or not many:
        return False
    in_each, rest = divmod(length_micros(windows.size), length_micros(windows.slide))
    read = {c for e in node.expressions for c in columns_of(e)}
    return (
        not rest
        and in_each >= limits.pane_windows
        and not read & {windows.start, windows.end}
        and all(map(_adds_up, parts))
    )


def _adds_up(part: acc.Accumulation) -> bool:
    if part.upkeep is Upkeep.ADDED:
        return all(field.type.kind in _ADDED for field in part.columns)
    return part.upkeep is Upkeep.EXTREMUM


def add_up(
    node: n.Aggregate | n.CloseAggregate,
    rows: DataFrame,
    parts: list[acc.Accumulation],
    sums: Sums,
) -> DataFrame:
    """Return the sums that rows of the input of Hop add to each group of windows."""
    from pyspark.sql import functions as F

    windows = node.input
    assert isinstance(windows, n.Hop)
    type_ = windows.input.field(windows.time).type
    offset, slide = length_micros(windows.offset), length_micros(windows.slide)
    since = to_micros(ident(windows.time), type_)
    pane = from_micros(first_of(f"{since} - pmod({since} - {offset}, {slide})"), type_)
    group = tuple(c for c in node.group if c not in (windows.start, windows.end))
    by_pane = sums((*group, _PANE), rows.selectExpr("*", f"{pane} AS {_PANE}"))
    texts = dict(_sums_of_sums(node, parts))
    kept = [ident(c) for c in (*group, *texts)]
    spread = repeat(windows, by_pane, _PANE, kept)
    folded = [F.expr(text).alias(name) for name, text in texts.items()]
    return spread.groupBy(*map(ident, node.group)).agg(*folded)


def _sums_of_sums(
    node: n.Aggregate | n.CloseAggregate, parts: list[acc.Accumulation]
) -> list[tuple[str, str]]:
    """Return the columns of partial sums, each with the text that adds it up."""
    out = [(NEW + ROWS, f"CAST(sum({ident(NEW + ROWS)}) AS BIGINT)")]
    calls = dict(node.aggregates)
    for part in parts:
        for field in part.columns:
            name = NEW + field.name
            if part.upkeep is Upkeep.ADDED:
                text = f"CAST(sum({ident(name)}) AS {spark_type(field.type)})"
            else:
                text = aggregate_of(calls[part.name]).print_batch(
                    [Operand(ident(name), field.type)]
                )
            out.append((name, text))
    return out
