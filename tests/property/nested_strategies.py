"""Draws what has rows or queries inside: functions that return rows, subqueries, DISTINCT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, BoolOp, Call, ColumnRef, Expr, Literal
from floodmark.scalar.functions import Operand, aggregate_overload, function_overload
from floodmark.scalar.types import BOOLEAN, INT, INTERVAL, TIMESTAMP, Field
from tests.property.subqueries import QUERIES, plan_of

if TYPE_CHECKING:
    from tests.property.plan_strategies import Builder


def called(name: str, *args: Expr) -> Call:
    """Return the call of a function with its registered type."""
    operands = [
        Operand("", arg.type, arg.value) if isinstance(arg, Literal) else Operand("", arg.type)
        for arg in args
    ]
    found = function_overload(name, tuple(arg.type for arg in args))
    return Call(found.result_type(operands), name, args)


def unrolled(builder: Builder, below: n.Node) -> n.Node:
    """Draw each row once per element: of a series up to a column, or of an array of columns."""
    found = integers(below)
    if not found:
        return below
    column = reference(builder.pick(found))
    one = Literal(INT, 1)
    match builder.pick(["series", "series", "down", "array"]):
        case "series":
            bound = called("least", column, Literal(INT, 3))
            call = called("generate_series", one, bound)
        case "down":
            steps = [Literal(INT, builder.pick([2, 3])), one, Literal(INT, builder.pick([-1, 0]))]
            call = called("generate_series", *steps)
        case _:
            elements = (column, reference(builder.pick(found)), one)
            call = called("unnest", called("array", *elements))
    outer = builder.draw(st.booleans())
    return n.ProjectSet(below, call, (builder.fresh(),), builder.fresh("n"), outer=outer)


def compared(builder: Builder, below: n.Node, other: n.Node) -> n.Node:
    """Draw a comparison with the one row of a subquery, or that row as a column."""
    mine, theirs = integers(below), integers(other)
    if not mine or not theirs:
        return below
    found, name = builder.pick(theirs), builder.pick(["min", "max", "min", "first_value"])
    value = AggCall(name, (reference(found),), INT)
    inner = n.Aggregate(other, (), ((builder.fresh(), value),))
    right = n.Project(inner, ((builder.fresh(), ColumnRef(INT, inner.names[0])),))
    if builder.draw(st.booleans()):
        return n.Join(below, right, builder.pick([n.JoinKind.LEFT, n.JoinKind.INNER]), ())
    op = builder.pick(["=", "<>", "<", "<=", ">", ">="])
    test = Call(BOOLEAN, op, (reference(builder.pick(mine)), reference(right.schema[0])))
    return n.Join(below, right, n.JoinKind.SEMI, (), test)


def written(builder: Builder) -> n.Node:
    """Draw a query with subqueries from a list of texts; every column gets a fresh name."""
    root = plan_of(builder.pick(QUERIES))
    return n.Project(root, tuple((builder.fresh(), reference(f)) for f in root.schema))


def distinct(builder: Builder, below: n.Node) -> n.Node:
    """Draw SELECT DISTINCT of a few columns."""
    some = st.lists(st.sampled_from(below.names), min_size=1, max_size=2, unique=True)
    return n.Aggregate(below, tuple(builder.draw(some)), ())


def apart(builder: Builder, left: n.Node, right: n.Node) -> Expr | None:
    """Draw a distance between a time of the left and one of the right side, if both have one."""
    sides = [[f for f in side.schema if f.type == TIMESTAMP] for side in (left, right)]
    if not all(sides):
        return None
    mine, theirs = (reference(builder.pick(side)) for side in sides)
    before, after = (
        Literal(INTERVAL, (0, 0, builder.pick([0, 1, 3]) * 60_000_000)) for _ in range(2)
    )
    lower = called(">=", mine, called("-", theirs, before))
    upper = called("<=", mine, called("+", theirs, after))
    return BoolOp(BOOLEAN, "and", (lower, upper))


def spread(builder: Builder, below: n.Node) -> AggCall:
    """Draw an aggregate beside count, sum, avg, min and max."""
    column = reference(builder.pick([f for f in below.schema if f.type == INT]))
    name = builder.pick(["bool_and", "bool_or", "var_pop", "stddev_samp", "array_agg"])
    value: Expr = column
    if name.startswith("bool"):
        value = Call(BOOLEAN, "<", (column, Literal(INT, builder.pick([0, 2]))))
    result = aggregate_overload(name, (value.type,)).result_type([Operand("", value.type)])
    order = ((column, builder.draw(st.booleans()), False),) if name == "array_agg" else ()
    condition = builder.comparison(below) if builder.draw(st.integers(0, 3)) == 0 else None
    return AggCall(name, (value,), result, filter=condition, order_by=order)


def reference(field: Field) -> ColumnRef:
    """Return a column of a node's output."""
    return ColumnRef(field.type, field.name)


def integers(node: n.Node) -> list[Field]:
    """Return the columns of type INT."""
    return [f for f in node.schema if f.type == INT]
