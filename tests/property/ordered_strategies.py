"""Draws what looks at rows in an order: window functions with their frames, first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, Expr, Literal
from floodmark.scalar.functions import Operand, aggregate_overload
from floodmark.scalar.types import BIGINT, DOUBLE, INT, Field

if TYPE_CHECKING:
    from tests.property.plan_strategies import Builder

Frame = tuple[str, str, str, str]
_RANKS = ("row_number", "rank", "dense_rank")
_SHARES = ("percent_rank", "cume_dist")
_VALUES = ("first_value", "last_value", "nth_value")
_AGGREGATES = ("count", "sum", "avg", "min", "max")
_EXCLUDE = ("NO OTHERS", "NO OTHERS", "NO OTHERS", "CURRENT ROW", "GROUP", "TIES")


def over_window(builder: Builder, below: n.Node) -> n.Node:
    """Draw window functions over a partitioning and an order of some columns."""
    partition = some(builder, below, 2)
    order = keys(builder, below)
    calls = tuple(
        (builder.fresh(), _call(builder, below, order)) for _ in range(builder.pick([1, 2]))
    )
    return n.OverWindow(below, partition, order, calls)


def top_n(builder: Builder, below: n.Node) -> n.Node:
    """Draw the first rows, of groups or of all."""
    group = some(builder, below, 1)
    order = keys(builder, below)
    ties = bool(order) and builder.draw(st.booleans())
    number = builder.fresh() if builder.draw(st.booleans()) else None
    limit, offset = builder.pick([1, 1, 2, 3]), builder.pick([0, 0, 0, 1])
    return n.TopN(below, group, order, limit, offset, ties, number)


def some(builder: Builder, below: n.Node, most: int) -> tuple[str, ...]:
    """Draw a few columns."""
    drawn = st.lists(st.sampled_from(below.names), max_size=most, unique=True)
    return tuple(builder.draw(drawn))


def keys(builder: Builder, below: n.Node) -> tuple[n.SortKey, ...]:
    """Draw an order: NULLs on either side, up or down."""
    names = some(builder, below, 2)
    flags = st.booleans()
    return tuple(n.SortKey(c, builder.draw(flags), builder.draw(flags)) for c in names)


def _call(builder: Builder, below: n.Node, order: tuple[n.SortKey, ...]) -> n.WindowCall:
    kind = builder.pick(["rank", "share", "tile", "neighbour", "value", "aggregate", "aggregate"])
    match kind:
        case "rank":
            return n.WindowCall(builder.pick(_RANKS), (), BIGINT)
        case "share":
            return n.WindowCall(builder.pick(_SHARES), (), DOUBLE)
        case "tile":
            return n.WindowCall("ntile", (Literal(INT, builder.pick([1, 2, 3])),), INT)
    found: Field = builder.pick(below.schema)
    value = ColumnRef(found.type, found.name)
    nulls = builder.draw(st.booleans())
    if kind == "neighbour":
        step = Literal(INT, builder.pick([0, 1, 2, -1]))
        args: tuple[Expr, ...] = builder.pick([(value,), (value, step), (value, step, value)])
        return n.WindowCall(builder.pick(["lag", "lead"]), args, found.type, ignore_nulls=nulls)
    frame = _frame(builder, below, order)
    if kind == "value":
        name = builder.pick(_VALUES)
        args = (value, Literal(INT, builder.pick([1, 2]))) if name == "nth_value" else (value,)
        return n.WindowCall(name, args, found.type, frame, ignore_nulls=nulls)
    return _aggregate(builder, below, frame)


def _aggregate(builder: Builder, below: n.Node, frame: Frame | None) -> n.WindowCall:
    condition = builder.comparison(below) if builder.draw(st.integers(0, 3)) == 0 else None
    whole = [f for f in below.schema if f.type in (INT, BIGINT)]
    if not whole:
        return n.WindowCall("count", (), BIGINT, frame, condition)
    found = builder.pick(whole)
    name = builder.pick(_AGGREGATES)
    result = aggregate_overload(name, (found.type,)).result_type([Operand("", found.type)])
    return n.WindowCall(name, (ColumnRef(found.type, found.name),), result, frame, condition)


def _frame(builder: Builder, below: n.Node, order: tuple[n.SortKey, ...]) -> Frame | None:
    if builder.draw(st.integers(0, 3)) == 0:
        return None
    unit = builder.pick(["ROWS", "ROWS", "RANGE", "GROUPS"] if order else ["ROWS", "RANGE"])
    counted = unit != "RANGE" or (
        len(order) == 1 and below.field(order[0].column).type in (INT, BIGINT)
    )
    bounds = ["UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING"]
    if counted:
        bounds[1:1] = ["2 PRECEDING", "1 PRECEDING"]
        bounds[-1:-1] = ["1 FOLLOWING", "2 FOLLOWING"]
    first = builder.draw(st.integers(0, len(bounds) - 2))
    last = builder.draw(st.integers(max(first, 1), len(bounds) - 1))
    return unit, bounds[first], bounds[last], builder.pick(_EXCLUDE)
