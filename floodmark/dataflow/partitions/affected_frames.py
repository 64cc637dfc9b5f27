"""Affected frames: the rows of a window's partitions whose functions an epoch can change.

Each changed row becomes marks at the ends of the range in which rows see it, and of the wider one
of the rows that those see. One pass in order counts the ranges that are open at each row.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from floodmark.dataflow.partitions import frames
from floodmark.dataflow.partitions.recompute_partitions import AFTER
from floodmark.plan import nodes as n
from floodmark.spark.sorting import sort_key
from floodmark.spark.types import ident
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.reach import Reach, move_at_least

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOUCHED_MARK = "__touched"
"""BOOLEAN: a change is among the rows that the row's functions see, before or after the epoch."""
_AT, _MARK = "__at", "__mark"
_COUNTS = {"touched": "__touching", "seen": "__seeing"}
"""The ranges of either kind that are open at a row."""
_START, _ROW, _END = 0, 1, 2
"""What stands at one place, in order: starts of ranges, rows, ends."""
_WIDER = 1e-14
"""The part by which a range is wider than it has to be: places are doubles."""


def rows_of(node: n.OverWindow, rows: DataFrame, reach: Reach, total: str) -> DataFrame:
    """Return the rows that touched ones see, with `__touched`.

    `rows` are those before, after and, with NULL in `__after`, where something changed; `total` is
    the ORDER BY in which no two rows of a partition are equal.
    """
    kept = [*map(ident, node.input.names), AFTER]
    by = ", ".join(map(ident, node.partition)) or "1"
    placed = rows.selectExpr(*kept, f"{_place(node, reach, by, total)} AS {_AT}")
    marked = placed.selectExpr(*kept, f"explode({_marks(node, reach)}) AS {_MARK}")
    over = f"OVER (PARTITION BY {by} ORDER BY {_order(node, reach)})"
    counted = marked.selectExpr(
        *kept, _MARK, *(f"sum({_MARK}.{what}) {over} AS {name}" for what, name in _COUNTS.items())
    )
    rows_of_place = counted.where(f"{_MARK}.kind = {_ROW} AND {_COUNTS['seen']} > 0")
    return rows_of_place.selectExpr(*kept, f"{_COUNTS['touched']} > 0 AS {TOUCHED_MARK}")


def near(node: n.OverWindow, reach: Reach, lie: Bounds) -> Bounds:
    """Return where the rows lie that touched ones see, from where the changes lie.

    Nothing is known unless distances are measured in values.
    """
    if reach.unit != "RANGE":
        return {}
    (key,) = node.order
    if key.column not in lie:
        return {}
    far = reach.back + reach.ahead
    low, high = (move_at_least(v, s * far) for v, s in zip(lie[key.column], (-1, 1), strict=True))
    return {} if low is None or high is None else {key.column: (low, high)}


def _place(node: n.OverWindow, reach: Reach, by: str, total: str) -> str:
    """Return the text of a row's place: its number, that of its peers, or its value."""
    if reach.unit == "RANGE":
        (key,) = node.order
        column, _ = frames.measure(node.input.field(key.column).type, key.column)
        return f"CAST({column} AS DOUBLE)"
    order = total if reach.unit == "ROWS" else frames.plain_order(node)
    return f"CAST(dense_rank() OVER (PARTITION BY {by} ORDER BY {order}) AS BIGINT)"


def _order(node: n.OverWindow, reach: Reach) -> str:
    at, kind = f"{_MARK}.at", f"{_MARK}.kind ASC"
    if reach.unit != "RANGE":
        return f"{at} ASC, {kind}"
    (key,) = node.order
    return f"{sort_key(at, key.descending, key.nulls_first)}, {kind}"


def _marks(node: n.OverWindow, reach: Reach) -> str:
    """Return the text of a row's marks: itself, or for a change the ends of its ranges."""
    far = reach.back + reach.ahead
    ends = [
        _mark(_away(node, reach, _START, reach.ahead), _START, 1, 0),
        _mark(_away(node, reach, _END, reach.back), _END, -1, 0),
        _mark(_away(node, reach, _START, far), _START, 0, 1),
        _mark(_away(node, reach, _END, far), _END, 0, -1),
    ]
    row = _mark(_AT, _ROW, 0, 0)
    return f"CASE WHEN {AFTER} IS NULL THEN array({', '.join(ends)}) ELSE array({row}) END"


def _mark(at: str, kind: int, touched: int, seen: int) -> str:
    return f"struct({at} AS at, {kind} AS kind, {touched} AS touched, {seen} AS seen)"


def _away(node: n.OverWindow, reach: Reach, end: int, by: Decimal) -> str:
    """Return the text of a place at least so far from a row's: before it for a start, else after.

    Before and after are those of the window's order.
    """
    if reach.unit != "RANGE":
        return f"({_AT} {'-' if end == _START else '+'} {by:f}L)"
    (key,) = node.order
    sign = "-" if (end == _START) != key.descending else "+"
    wide = repr(float(by) * (1 + _WIDER))
    return f"nanvl({_AT} {sign} ({wide}D + abs({_AT}) * {_WIDER!r}D), {_AT})"
