"""Session that emits on close: its rows, once, when no later row can belong to it any more.

Held are the rows of open sessions, by their time. A session is closed if the watermark is beyond
its last row and the gap; so only rows below the watermark say which ones are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from floodmark.changelog import WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.materialize import cancel
from floodmark.dataflow.operators import session
from floodmark.scalar.types import INT, Field
from floodmark.spark.literals import literal
from floodmark.spark.rows import Rows, constants
from floodmark.spark.types import ident
from floodmark.stream.operators.close_session import StreamCloseSession

_AFTER = "floodmark__after"


def delta(op: StreamCloseSession, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the rows of the sessions that this epoch's watermark closes."""
    (below,) = inputs
    node = op.node
    after = ctx.inputs.watermark(op.input, node.time, before=False)
    child, few = node.input, ctx.inputs.few
    schema = (*child.schema, Field(WEIGHT, INT, nullable=False))
    state = ctx.stages.sort_buffer(op.buffer.name, schema, node.time)
    fresh, held = below.materialize(), state.passed_rows(after)
    parts = [part for part in (fresh, held) if part is not None]
    if not parts:
        state.keep(None, after, few=few)
        return None
    names = [*map(ident, child.names), WEIGHT]
    changes = reduce(lambda a, b: a.unionAll(b), (part.selectExpr(*names) for part in parts))
    time, end = ident(node.time), ident(node.end)
    if after is None:
        state.keep(changes.where(f"{time} IS NOT NULL"), after, few=few)
        return None
    type_ = child.field(node.time).type
    timed = changes.selectExpr("*", constants({_AFTER: literal(after, type_)}))
    passed = timed.where(f"{time} < {_AFTER}").selectExpr(*names)
    if not below.operator.append_only:
        passed = cancel(passed, child.schema, below.operator.stream_key)
    sessions = session.batch(node, passed).selectExpr(
        "*", constants({_AFTER: literal(after, type_)})
    )
    open_ = sessions.where(f"{end} >= {_AFTER}").selectExpr(*names[:-1], f"1 AS {WEIGHT}")
    above = timed.where(f"{time} >= {_AFTER}").selectExpr(*names)
    state.keep(open_.unionAll(above), after, few=few)
    released = sessions.where(f"{end} < {_AFTER}")
    rows = released.selectExpr(*map(ident, node.names), f"1 AS {WEIGHT}")
    return Rows(rows, consolidated=True, inserts=True)
