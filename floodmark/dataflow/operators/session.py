"""Session: adds the session that holds a row; recomputed for the sessions that changes touch.

A row at most `gap` after the one before it in its partition is in that one's session. Rows without
a time are in none and are dropped, or kept beside all sessions.

Rows before and after an epoch, taken together, fall into stretches without a gap. Each session, old
or new, lies within one stretch. So sessions of stretches without a change stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.partitions import recompute_partitions
from floodmark.dataflow.partitions.recompute_partitions import AFTER
from floodmark.dataflow.windows import end_of, from_micros, to_micros
from floodmark.plan import nodes as n
from floodmark.scalar.functions.intervals import length_micros
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.session import StreamSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_TIME, _OPENS, _NUMBER = "__time", "__opens", "__number"
"""Microseconds; BOOLEAN: the row is the first of a session; the session's number."""
_FIRST, _LAST = "__first", "__last"
"""The first and the last time of a session, in microseconds."""
_TOUCHED_MARK = "__touched"


def delta(op: StreamSession, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the sessions that changed."""
    node = op.node

    def compute(tagged: list[DataFrame]) -> DataFrame:
        return batch(node, tagged[0], (AFTER,))

    def narrow(rows: DataFrame) -> DataFrame:
        return _changed_sessions(node, rows)

    return recompute_partitions.delta(op, inputs, compute, ctx, narrow=narrow)


def batch(node: n.Session, frame: DataFrame, apart: tuple[str, ...] = ()) -> DataFrame:
    """Return the rows with their sessions; rows that differ in `apart` are never in one."""
    type_ = node.input.field(node.time).type
    within = _partition_text((*apart, *node.partition))
    each = f"OVER (PARTITION BY {within}, {_NUMBER})"
    ends = (f"min({_TIME}) {each} AS {_FIRST}", f"max({_TIME}) {each} AS {_LAST}")
    bounds = [
        f"{from_micros(_FIRST, type_)} AS {ident(node.start)}",
        f"{from_micros(end_of(_LAST, length_micros(node.gap)), type_)} AS {ident(node.end)}",
    ]
    names = [ident(name) for name in node.input.names]
    numbered = _number_sessions(node, frame, within, (*node.input.names, *apart))
    sessions = numbered.selectExpr("*", *ends).selectExpr(*names, *bounds, *map(ident, apart))
    if not node.keeps_untimed:
        return sessions
    nothing = [f"CAST(NULL AS {spark_type(type_)}) AS {ident(c)}" for c in (node.start, node.end)]
    untimed = frame.where(f"{ident(node.time)} IS NULL")
    return sessions.unionAll(untimed.selectExpr(*names, *nothing, *map(ident, apart)))


def _changed_sessions(node: n.Session, rows: DataFrame) -> DataFrame:
    """Return the rows that no gap parts from a change, whichever side either is of."""
    within = _partition_text(node.partition)
    kept = [*map(ident, node.input.names), AFTER]
    numbered = _number_sessions(node, rows, within, (*node.input.names, AFTER))
    changed = f"bool_or({AFTER} IS NULL) OVER (PARTITION BY {within}, {_NUMBER}) AS {_TOUCHED_MARK}"
    marked = numbered.selectExpr(*kept, changed)
    touched = marked.where(f"{_TOUCHED_MARK} AND {AFTER} IS NOT NULL").selectExpr(*kept)
    if not node.keeps_untimed:
        return touched
    untimed = rows.where(f"{ident(node.time)} IS NULL AND {AFTER} IS NOT NULL")
    return touched.unionAll(untimed.selectExpr(*kept))


def _number_sessions(
    node: n.Session, frame: DataFrame, within: str, names: tuple[str, ...]
) -> DataFrame:
    """Return the rows that have a time, with it and the number of their session in `within`."""
    type_ = node.input.field(node.time).type
    timed = frame.where(f"{ident(node.time)} IS NOT NULL").selectExpr(
        *map(ident, names), f"{to_micros(ident(node.time), type_)} AS {_TIME}"
    )
    before = f"lag({_TIME}) OVER (PARTITION BY {within} ORDER BY {_TIME})"
    opens = f"coalesce({_TIME} - {before} > {length_micros(node.gap)}, TRUE) AS {_OPENS}"
    number = f"count_if({_OPENS}) OVER (PARTITION BY {within} ORDER BY {_TIME})"
    return timed.selectExpr("*", opens).selectExpr("*", f"{number} AS {_NUMBER}")


def _partition_text(names: tuple[str, ...]) -> str:
    return ", ".join(map(ident, names)) or "1"
