"""Watermarks under which surely no row of an epoch is late, found without looking at each row.

A row is late if its time is below the watermark of the rows before it. Where the delay is longer
than a piece of neighbouring rows, the lowest and the highest time of each piece decide. Only the
times are read then; no whole rows are sorted by their offsets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from floodmark.plan.declaration import WatermarkInfo
from floodmark.plan.expr.evaluate import evaluate
from floodmark.spark.expressions import compile_bound
from floodmark.spark.literals import literal
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SO_FAR = "OVER (PARTITION BY __partition ORDER BY __piece)"


def has_no_late_row(
    pieces: Sequence[tuple[Any, Any]], mark: WatermarkInfo, before: Any, now: datetime
) -> bool:
    """Tell whether surely no row is late, of pieces of one partition's rows that follow each other.

    Each has its lowest and highest time; `before` is the watermark of the epoch before, or None.
    A watermark grows with its column: what is not late by the last one of some pieces is not late
    by those before it. So it is evaluated for few of many pieces.
    """
    highest = tuple(accumulate((high for _, high in pieces), max))

    def is_on_time(first: int, last: int) -> bool:
        """Tell it of the pieces from the first to before the last."""
        reached, error = evaluate(mark.expr, {mark.column: highest[last - 1]}, now)
        if error is None and reached is not None and reached <= min(lows[first:last]):
            return True
        middle = (first + last) // 2
        return middle > first and is_on_time(first, middle) and is_on_time(middle, last)

    lows = [low for low, _ in pieces]
    if not lows:
        return True
    return (before is None or before <= min(lows)) and is_on_time(0, len(lows))


def possibly_late(
    rows: DataFrame,
    marks: Sequence[WatermarkInfo],
    before: Mapping[str, Any],
    now: int,
    piece: int,
) -> tuple[WatermarkInfo, ...]:
    """Return the watermarks under which a row may be late; one Spark query.

    `rows` are the connector's, `before` the watermarks of the epoch before, `piece` how many rows
    a piece has. A watermark grows with its column, so that of a piece is that of its highest time;
    dead rows count, too, which can only find more.
    """
    pieces = rows.selectExpr(
        "__partition", f"__offset div {piece} AS __piece",
        *(ident(mark.column) for mark in marks),
    ).groupBy("__partition", "__piece")  # fmt: skip
    from pyspark.sql import functions as F

    ends = pieces.agg(
        *(F.expr(f"min({ident(m.column)}) AS __low_{i}") for i, m in enumerate(marks)),
        *(F.expr(f"max({ident(m.column)}) AS __high_{i}") for i, m in enumerate(marks)),
    )
    reached = ends.selectExpr(
        *(f"__low_{i}" for i in range(len(marks))),
        *(f"max(__high_{i}) {_SO_FAR} AS {ident(m.column)}" for i, m in enumerate(marks)),
    )
    tests = reached.selectExpr(
        *(
            f"coalesce(max(__low_{i} IS NOT NULL AND NOT coalesce({_not_late(i, m, before, now)}, "
            f"FALSE)), FALSE) AS late_{i}"
            for i, m in enumerate(marks)
        )
    )
    row = tests.collect()[0]
    return tuple(mark for i, mark in enumerate(marks) if row[f"late_{i}"])


def _not_late(index: int, mark: WatermarkInfo, before: Mapping[str, Any], now: int) -> str:
    text = f"__low_{index} >= {compile_bound(mark.expr, now).value}"
    earlier = before.get(mark.column)
    if earlier is not None:
        text = f"{text} AND __low_{index} >= {literal(earlier, mark.expr.type)}"
    return f"({text})"
