"""GrowingSeries: repeats each row for the values of a series that end at the epoch's time.

What has been reached is emitted; of what is to come the next value alone is kept, with the time at
which it is reached. An epoch takes the series that are due on from there, and reads no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.plan.rules.growing_series import entry_time, following, series_tail
from floodmark.scalar.functions.intervals import LAST
from floodmark.scalar.types import BIGINT, INT, Field
from floodmark.spark.expressions import compile as compile_expr, compile_bound
from floodmark.spark.rows import Rows, error_column
from floodmark.spark.types import ident
from floodmark.stream.operators.growing_series import StreamGrowingSeries
from floodmark.stream.properties.state import DUE_AT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_NEXT, _COUNT = "floodmark__next", "floodmark__count"
_VALUES, _PLACE, _VALUE = "floodmark__values", "floodmark__place", "floodmark__value"


def delta(op: StreamGrowingSeries, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the values that the epoch reaches, and those of rows that come and go."""
    (below,) = inputs
    node, rows = op.node, below.rows
    waiting = (Field(_NEXT, node.start.type), Field(_COUNT, BIGINT, False))
    schema = (Field(DUE_AT, BIGINT, False), *node.input.schema, *waiting)
    state = ctx.stages.due_changes(op.due_changes.name, (*schema, Field(WEIGHT, INT, False)))
    settled = below.materialize()
    ctx.inputs.fall_due(state.due_rows(ctx.now))
    columns = [*map(ident, node.input.names), _NEXT, _COUNT, WEIGHT]
    grows = below.operator.append_only
    parts: list[DataFrame] = []
    if settled is not None:
        start = compile_expr(node.start, ctx.now).value
        parts.append(settled.selectExpr("*", f"{start} AS {_NEXT}", f"0L AS {_COUNT}"))
    due = state.take_due(ctx.now)
    if due is not None:
        parts.append(due if grows else _add_up(due, columns))
    series = [part.selectExpr(*columns) for part in parts]
    if not series:
        state.keep(None, ctx.now, few=ctx.inputs.few)
        return None
    grown = _add_values(node, reduce(lambda a, b: a.unionAll(b), series), ctx.now)
    state.keep(_advance(node, grown, ctx.now), ctx.now, few=ctx.inputs.few)
    inserts = grows and (rows is None or rows.inserts)
    return Rows(_emit(node, grown), failing=ERROR in grown.columns, inserts=inserts)


def _add_up(due: DataFrame, columns: list[str]) -> DataFrame:
    """Return the series of rows that are still there; one that is gone is kept with both signs."""
    from pyspark.sql import functions as F

    total = F.expr(f"CAST(sum({WEIGHT}) AS INT)").alias(WEIGHT)
    return due.groupBy(*columns[:-1]).agg(total).where(f"{WEIGHT} <> 0")


def _add_values(node: n.GrowingSeries, series: DataFrame, now: int) -> DataFrame:
    """Add the values that are reached from the next one of each series on."""
    values = series_tail(node, ColumnRef(node.start.type, _NEXT))
    compiled = compile_expr(values, now)
    label = node.call.span.text if node.call.span is not None else "generate_series"
    error = error_column([(label, compiled)], list(node.input.names))
    extra = [] if error is None else [error]
    return series.selectExpr("*", f"{compiled.value} AS {_VALUES}", *extra)


def _emit(node: n.GrowingSeries, grown: DataFrame) -> DataFrame:
    """Return a row for each value that is reached, and those on their way to the dead letters."""
    names, fails = [ident(c) for c in node.input.names], ERROR in grown.columns
    marks = [WEIGHT, ERROR] if fails else [WEIGHT]
    word = "posexplode_outer" if fails else "posexplode"
    values = grown.selectExpr(*names, _COUNT, *marks, f"{word}({_VALUES}) AS ({_PLACE}, {_VALUE})")
    if fails:
        values = values.where(f"{_PLACE} IS NOT NULL OR {ERROR} IS NOT NULL")
    ordinal = f"CAST({_COUNT} + coalesce({_PLACE}, 0) + 1 AS BIGINT) AS {ident(node.ordinal)}"
    return values.selectExpr(*names, f"{_VALUE} AS {ident(node.outputs[0])}", ordinal, *marks)


def _advance(node: n.GrowingSeries, grown: DataFrame, now: int) -> DataFrame:
    """Return the next value of each series after those, with the time at which it is reached."""
    names, type_ = [ident(c) for c in node.input.names], node.start.type
    sound = grown.where(f"{ERROR} IS NULL") if ERROR in grown.columns else grown
    ended = sound.selectExpr(
        *names,
        WEIGHT,
        _NEXT,
        f"{_COUNT} + greatest(size({_VALUES}), 0) AS {_COUNT}",
        f"CASE WHEN size({_VALUES}) > 0 THEN element_at({_VALUES}, -1) END AS {_VALUE}",
    )
    # What lies outside of the years is no value: the series ends.
    after = compile_expr(following(node, ColumnRef(type_, _VALUE)), now).value
    stepped = f"CASE WHEN {_VALUE} IS NULL THEN {_NEXT} ELSE {after} END AS {_NEXT}"
    next_ = ended.selectExpr(*names, WEIGHT, _COUNT, stepped)
    bound = compile_bound(entry_time(node, ColumnRef(type_, _NEXT)), now).value
    timed = next_.selectExpr(f"unix_micros({bound}) AS {DUE_AT}", *names, _NEXT, _COUNT, WEIGHT)
    return timed.where(f"{now}L < {DUE_AT} AND {DUE_AT} < {LAST}L")
