"""Sort buffer: holds rows until the watermark has passed them, then releases each once.

Over a persisted append-only input it keeps nothing: it reads the rows between the last watermark
and this one. Over any other input it keeps the changes above the watermark, by the watermark's
column; what comes and goes before that is never released.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from floodmark.changelog import WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.materialize import cancel
from floodmark.dataflow.operators import filter
from floodmark.plan import nodes as n
from floodmark.scalar.types import INT, Field
from floodmark.spark.literals import literal
from floodmark.spark.rows import Rows, constants, set_weight
from floodmark.spark.types import ident
from floodmark.stream.operators.sort_buffer import StreamSortBuffer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_BEFORE, _AFTER = "floodmark__before", "floodmark__after"


def delta(op: StreamSortBuffer, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the rows that this epoch's watermark releases."""
    (below,) = inputs
    released, condition = _release(op, below, ctx), op.node.condition
    if released is None or condition is None:
        return released
    return filter.passing(condition, released, op.names, ctx.now)


def _release(op: StreamSortBuffer, below: Input, ctx: EpochContext) -> Rows | None:
    node = op.node
    before = ctx.inputs.watermark(op.input, node.column, before=True)
    after = ctx.inputs.watermark(op.input, node.column, before=False)
    if ctx.inputs.fills:
        before = None
    if not op.stateless:
        return _from_state(op, below, ctx, after)
    if after is None or after == before:
        return None
    rows = below.rows_after({} if before is None else {node.column: (before, after)})
    if rows is None:
        return None
    released = set_weight(_rows_between(node, rows, before, after))
    return Rows(released, consolidated=True, inserts=True)


def _from_state(op: StreamSortBuffer, below: Input, ctx: EpochContext, after: Any) -> Rows | None:
    node = op.node
    schema = (*node.schema, Field(WEIGHT, INT, nullable=False))
    state = ctx.stages.sort_buffer(op.buffer.name, schema, node.column)
    fresh, held = below.materialize(), state.passed_rows(after)
    parts = [part for part in (fresh, held) if part is not None]
    if not parts:
        state.keep(None, after, few=ctx.inputs.few)
        return None
    names = [*map(ident, node.names), WEIGHT]
    changes = reduce(lambda a, b: a.unionAll(b), (part.selectExpr(*names) for part in parts))
    column = ident(node.column)
    if after is None:
        state.keep(changes.where(f"{column} IS NOT NULL"), after, few=ctx.inputs.few)
        return None
    bound = constants({_AFTER: literal(after, node.field(node.column).type)})
    timed = changes.selectExpr("*", bound)
    state.keep(timed.where(f"{column} >= {_AFTER}").selectExpr(*names), after, few=ctx.inputs.few)
    closed = timed.where(f"{column} < {_AFTER}").selectExpr(*names)
    released = cancel(closed, node.schema, op.stream_key)
    return Rows(released.selectExpr(*names), consolidated=True, inserts=True)


def _rows_between(node: n.SortBuffer, rows: DataFrame, before: Any, after: Any) -> DataFrame:
    type_ = node.field(node.column).type
    column, bounds = ident(node.column), {_AFTER: literal(after, type_)}
    condition = f"{column} < {_AFTER}"
    if before is not None:
        bounds[_BEFORE] = literal(before, type_)
        condition += f" AND {column} >= {_BEFORE}"
    names = [ident(name) for name in node.names]
    return rows.selectExpr("*", constants(bounds)).where(condition).selectExpr(*names)
