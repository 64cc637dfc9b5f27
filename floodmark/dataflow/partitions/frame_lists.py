"""Values of a frame as a list: for EXCLUDE, and for functions of rows in their order.

Spark has no EXCLUDE. The rows of the frame are collected, those that are excluded are left out,
and the aggregate is computed over the list.
"""

from __future__ import annotations

from collections.abc import Sequence

from floodmark.dataflow.partitions.frames import PEERS
from floodmark.plan.expr.expressions import AggCall, Literal
from floodmark.scalar.functions import AggregateFunction
from floodmark.scalar.functions.comparison import print_extreme_of
from floodmark.scalar.functions.model import Accumulator, Operand
from floodmark.spark.types import spark_type

POSITION = "__position"
"""The number of a row in its partition, in an order in which no two rows are equal."""


def entries(
    exclude: str, values: Sequence[str], condition: str | None, over: str, *, peers: bool
) -> str:
    """Return the text of the frame's list: structs of position `p`, peer group `g`, `a0`, `a1`, …

    `condition` lets rows in; without `peers` all rows of a partition are peers.
    """
    group = PEERS if peers and exclude in ("GROUP", "TIES") else "1L"
    fields = [f"{POSITION} AS p", f"{group} AS g", *(f"{v} AS a{i}" for i, v in enumerate(values))]
    entry = f"struct({', '.join(fields)})"
    entry = entry if condition is None else f"CASE WHEN {condition} THEN {entry} END"
    collected = f"collect_list({entry}){over}"
    kept = {
        "CURRENT ROW": f"e.p <> {POSITION}",
        "GROUP": f"e.g <> {group}",
        "TIES": f"e.g <> {group} OR e.p = {POSITION}",
    }.get(exclude)
    return collected if kept is None else f"filter({collected}, e -> {kept})"


def print_list_aggregate(
    function: AggregateFunction, call: AggCall, operands: Sequence[Operand], members: str
) -> str:
    """Return the text of an aggregate over a frame's list."""
    if function.over_list is not None:
        return function.print_list(operands, f"transform(array_sort({members}), e -> e.a0)")
    if function.extremum is not None:
        return print_extreme_of(function.extremum, members, "e.a0", call.type)
    return _distinct(members, "m", _sum_text(function, call, operands))


def _distinct(value: str, name: str, body: str) -> str:
    """Return `body`, in which `name` is the value, computed once."""
    return f"transform(array({value}), {name} -> {body})[0]"


def _sum_text(function: AggregateFunction, call: AggCall, operands: Sequence[Operand]) -> str:
    """Return the finished sum of the contributions of the list `m`."""
    assert function.decompose is not None
    parts = function.decompose(tuple(o.type for o in operands), call.type)
    args = [
        o.sql if isinstance(a, Literal) else f"e.a{i}"
        for i, (o, a) in enumerate(zip(operands, call.args, strict=True))
    ]
    slots = {part.suffix: _accumulator_text(part, args) for part in parts.accumulators}
    return parts.print_value(slots)


def _accumulator_text(part: Accumulator, args: Sequence[str]) -> str:
    """Return the text of an accumulator over the list `m`."""
    text, type_ = part.contribution.format(*args, w="1"), spark_type(part.type)
    if part.gathered:
        return f"filter(transform(m, e -> {text}), e -> e IS NOT NULL)"
    step = f"CAST(try_add(s, coalesce({text}, CAST(0 AS {type_}))) AS {type_})"
    return f"aggregate(m, CAST(0 AS {type_}), (s, e) -> {step})"
