"""What an operator keeps of its inputs that no later change can need: rows below a watermark."""

from __future__ import annotations

from typing import Any

from floodmark.dataflow.operators import frames
from floodmark.dataflow.operators.context import Arrangement, EpochContext, Expired
from floodmark.plan import nodes as n
from floodmark.plan.rules.interval_join import at_distance
from floodmark.spark.types import ident
from floodmark.stream.properties.cleaning import cleaned_by
from floodmark.stream.properties.reach import moved, reach_of
from floodmark.stream.properties.state import arrangement_name


def arrangement_of(node: n.Node, i: int, ctx: EpochContext) -> Arrangement:
    """Return the arrangement that an operator has of an input that cannot be read again."""
    name = arrangement_name(node, i, ctx.name(node))
    return ctx.stages.arrangement(name, node.inputs[i].schema, unneeded(node, i, ctx))


def unneeded(node: n.Node, i: int, ctx: EpochContext) -> Expired | None:
    """Return which rows of an input go; None where none does.

    The watermarks are those of before the epoch: its own changes are not below them.
    """
    if ctx.inputs.fills:
        return None
    marks = [frozenset(w.column for w in ctx.plan[c].watermarks) for c in node.inputs]
    found = cleaned_by(node, marks)[i]
    if found is None:
        return None
    values: list[Any] = []
    for column, distance in found.terms:
        child = next(c for c, known in zip(node.inputs, marks, strict=True) if column in known)
        reached: Any = ctx.inputs.watermark(child, column, before=True)
        if reached is None:
            return None
        if isinstance(node, n.Join):
            bound = at_distance(reached, distance, node.inputs[i].field(found.column).type.kind)
        else:
            bound = moved(reached, distance) if distance else reached
        if bound is None:
            return None
        values.append(bound)
    if not found.last:
        return Expired(found.column, min(values))
    assert isinstance(node, n.OverWindow)
    return _but_the_last(node, found.last, min(values), ctx.plan[node.input].stream_key)


def _but_the_last(node: n.OverWindow, last: int, bound: Any, key: tuple[str, ...]) -> Expired:
    """Return the rows of a window's partitions but the last ones, as time goes."""
    time, reach = node.order[0], reach_of(node)
    groups = reach is not None and reach.unit == "GROUPS"
    order = frames.plain_order(node) if groups else frames.total_order(node, key)
    by = f"PARTITION BY {', '.join(map(ident, node.partition))}" if node.partition else ""
    place = f"{'dense_rank' if groups else 'row_number'}() OVER ({by} ORDER BY {order})"
    whole = f"{by} ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    counted = f"last_value(__place) OVER ({whole})"
    stays = f"__place <= {last}" if time.descending else f"__last - __place < {last}"
    return Expired(time.column, bound, (f"{place} AS __place", f"{counted} AS __last"), stays)
