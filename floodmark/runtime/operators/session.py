"""Session: adds the session that holds a row; recomputed for the partitions that changed.

A row at most `gap` after the one before it in its partition is in that one's session. Rows without
a time are in none and are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.plan import nodes as n
from floodmark.runtime.operators import scope
from floodmark.runtime.operators.rows import Rows
from floodmark.runtime.operators.scope import AFTER
from floodmark.runtime.operators.tumble import from_micros, micros, to_micros
from floodmark.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.runtime.evaluation import Evaluation

_TIME, _OPENS, _NUMBER = "__time", "__opens", "__number"
"""Microseconds; BOOLEAN: the row is the first of a session; the session's number."""


def delta(node: n.Session, around: Evaluation) -> Rows | None:
    """Return the changes of the partitions that changed."""

    def compute(inputs: list[DataFrame]) -> DataFrame:
        return batch(node, inputs[0], (AFTER,))

    return scope.delta(node, [node.partition], compute, around)


def batch(node: n.Session, frame: DataFrame, apart: tuple[str, ...] = ()) -> DataFrame:
    """Return the rows with their sessions; rows that differ in `apart` are never in one."""
    type_ = node.input.field(node.time).type
    gap = micros(node.gap)
    within = ", ".join(map(quoted, (*apart, *node.partition))) or "1"
    kept = [quoted(name) for name in (*node.input.names, *apart)]
    timed = frame.where(f"{quoted(node.time)} IS NOT NULL").selectExpr(
        *kept, f"{to_micros(quoted(node.time), type_)} AS {_TIME}"
    )
    before = f"lag({_TIME}) OVER (PARTITION BY {within} ORDER BY {_TIME})"
    opening = timed.selectExpr("*", f"coalesce({_TIME} - {before} > {gap}, TRUE) AS {_OPENS}")
    number = f"count_if({_OPENS}) OVER (PARTITION BY {within} ORDER BY {_TIME})"
    numbered = opening.selectExpr("*", f"{number} AS {_NUMBER}")
    each = f"OVER (PARTITION BY {within}, {_NUMBER})"
    first, last = f"min({_TIME}) {each}", f"max({_TIME}) {each} + {gap}"
    bounds = [
        f"{from_micros(first, type_)} AS {quoted(node.start)}",
        f"{from_micros(last, type_)} AS {quoted(node.end)}",
    ]
    names = [quoted(name) for name in node.input.names]
    return numbered.selectExpr(*names, *bounds, *map(quoted, apart))
