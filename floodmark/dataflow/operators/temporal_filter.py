"""Temporal filter: rows come and go when the epoch's time reaches a bound of theirs.

A changed row whose period has begun and is not over is a change of the filter at once. A change
that is due later is kept as a row with its time: +1 at the lower bound, -1 at the upper one. For a
row that goes the signs are the other way round. An epoch makes the changes that are due by its
time, and reads no others. So a row that comes and goes before its period adds up to nothing, and of
a row whose period is over nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.plan import nodes as n
from floodmark.scalar.functions.intervals import LAST
from floodmark.scalar.types import BIGINT, INT, Field
from floodmark.spark.expressions import CompiledExpr, compile as compile_expr, compile_bound
from floodmark.spark.rows import ERROR_TYPE, Rows, constants, error_column
from floodmark.spark.types import ident
from floodmark.stream.operators.temporal_filter import StreamTemporalFilter
from floodmark.stream.properties.state import DUE_AT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_FROM, _BEFORE, _NOW = "floodmark__from", "floodmark__before", "floodmark__now"
_CHANGE = "floodmark__change"
_EVER = 2**63 - 1
"""Microseconds since 1970 of a time that no epoch has."""


def delta(op: StreamTemporalFilter, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the filter: of its input, and those that are due."""
    (below,) = inputs
    node, rows = op.node, below.rows
    schema = (Field(DUE_AT, BIGINT, False), *node.schema, Field(WEIGHT, INT, False))
    state = ctx.stages.due_changes(op.due_changes.name, schema)
    settled = below.materialize()
    ctx.inputs.fall_due(state.due_rows(ctx.now))
    bounds = [compile_bound(bound, ctx.now) for bound in node.bounds]
    fails = any(bound.error is not None for bound in bounds)
    parts: list[DataFrame] = []
    later = None
    if settled is not None:
        bounded = _add_period(node, settled, bounds, ctx.now)
        later = _later(node, bounded, fails=fails)
        parts.append(_present_rows(node, bounded, fails=fails))
    state.keep(later, ctx.now, few=ctx.inputs.few)
    due = state.take_due(ctx.now)
    if due is not None:
        missing = [f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}"] if fails and parts else []
        names = [ident(c) for c in node.names]
        parts.append(due.selectExpr(*names, WEIGHT, *missing))
    if not parts:
        return None
    frame = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
    grows = op.append_only and (rows is None or rows.inserts)
    return Rows(frame, failing=fails and settled is not None, inserts=grows)


def batch(node: n.TemporalFilter, frame: DataFrame, now: int) -> DataFrame:
    """Return the rows for which the condition is TRUE now, without those that a bound refuses."""
    bounds = [compile_bound(bound) for bound in node.bounds]
    sound = [f"({bound.error}) IS NULL" for bound in bounds if bound.error is not None]
    return frame.where(" AND ".join([f"({compile_expr(node.condition, now).value})", *sound]))


def _add_period(
    node: n.TemporalFilter, changes: DataFrame, bounds: Sequence[CompiledExpr], now: int
) -> DataFrame:
    """Return changes with the microseconds at which their periods begin and end."""
    names = [ident(c) for c in node.names]
    texts = [f"unix_micros({bound.value})" for bound in bounds]
    lowers, uppers = texts[: len(node.lower_bounds)], texts[len(node.lower_bounds) :]
    # Spark passes NULLs over where it looks for the greatest.
    whole = " AND ".join(f"({text}) IS NOT NULL" for text in texts)
    begin = f"CASE WHEN {whole} THEN {_extreme('greatest', lowers, -_EVER)} END AS {_FROM}"
    end = f"CASE WHEN {whole} THEN {_extreme('least', uppers, _EVER)} END AS {_BEFORE}"
    label = node.condition.span.text if node.condition.span is not None else "WHERE"
    error = error_column([(label, bound) for bound in bounds], list(node.names))
    extra = [] if error is None else [error]
    frame = changes.selectExpr(*names, WEIGHT, begin, end, *extra)
    return frame.selectExpr("*", constants({_NOW: f"{now}L"}))


def _extreme(word: str, texts: Sequence[str], otherwise: int) -> str:
    if not texts:
        return f"{otherwise}L"
    return texts[0] if len(texts) == 1 else f"{word}({', '.join(texts)})"


def _present_rows(node: n.TemporalFilter, bounded: DataFrame, *, fails: bool) -> DataFrame:
    """Return the changes whose rows are there now, and those on their way to the dead letters."""
    there = f"{_FROM} <= {_NOW} AND {_NOW} < {_BEFORE}"
    names = [ident(c) for c in node.names]
    if not fails:
        return bounded.where(there).selectExpr(*names, WEIGHT)
    return bounded.where(f"{ERROR} IS NOT NULL OR ({there})").selectExpr(*names, WEIGHT, ERROR)


def _later(node: n.TemporalFilter, bounded: DataFrame, *, fails: bool) -> DataFrame:
    """Return what the changes change after now, with its time."""
    names = [ident(c) for c in node.names]
    times = (
        f"inline(array(struct({_FROM} AS {DUE_AT}, {WEIGHT} AS {_CHANGE}), "
        f"struct({_BEFORE} AS {DUE_AT}, -{WEIGHT} AS {_CHANGE})))"
    )
    sound = f"{ERROR} IS NULL AND " if fails else ""
    rows = bounded.where(f"{sound}{_FROM} < {_BEFORE}").selectExpr(*names, _NOW, times)
    later = rows.where(f"{_NOW} < {DUE_AT} AND {DUE_AT} < {LAST}L")
    return later.selectExpr(DUE_AT, *names, f"CAST({_CHANGE} AS INT) AS {WEIGHT}")
