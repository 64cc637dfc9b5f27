"""Aggregates with DISTINCT: how often each value of a group is there, and which come and go.

A value comes when its count leaves zero, and goes when it is back there. With FILTER only the rows
that it lets in count.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT, ChangelogMode
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.groups import accumulators as acc
from floodmark.dataflow.groups.transitions import (
    merge_stored,
    partial_of,
    parts_of,
    transition_schema,
)
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Expr
from floodmark.scalar.types import BIGINT, BOOLEAN
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.accumulator_columns import NEW, OLD, group_fields, value_columns
from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.properties.bounds import bounds_of_expression
from floodmark.stream.properties.state import VALUE_COUNT, StateTable
from floodmark.stream.properties.strategy import Distinct, keep_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PASSES = "__passes"
"""BOOLEAN, with a number: a condition is TRUE."""


def add_crossings(
    op: StreamAggregate, below: Input, changes: DataFrame, ctx: EpochContext
) -> DataFrame | None:
    """Return the changes, and a row without weight for each value of DISTINCT that comes or goes.

    Beside the input's columns there are those of the values and their crossings.
    The counts are brought up to date. None where there is no such aggregate.
    """
    node = op.node
    if not op.distinct:
        return None
    made = value_columns(op.distinct)
    columns = {name: "NULL" for pair in made.values() for name in pair}
    names = [ident(c) for c in (*node.input.names, WEIGHT)]
    nulls = [f"CAST({text} AS {type_}) AS {name}" for name, text, type_ in _with_types(op, columns)]
    rows = [changes.selectExpr(*names, *nulls)]
    for one, table in zip(op.distinct, op.values, strict=True):
        rows.append(_crossings(op, below, one, table, changes, ctx, columns))
    return reduce(lambda a, b: a.unionAll(b), rows)


def _with_types(op: StreamAggregate, columns: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return name, text and Spark type of the columns beside the input's."""
    types = {}
    for i, (value, crossing) in value_columns(op.distinct).items():
        types[value] = spark_type(op.node.aggregates[i][1].args[0].type)
        types[crossing] = "INT"
    return [(name, text, types[name]) for name, text in columns.items()]


def _crossings(
    op: StreamAggregate,
    below: Input,
    one: Distinct,
    table: StateTable,
    changes: DataFrame,
    ctx: EpochContext,
    columns: dict[str, str],
) -> DataFrame:
    """Return the values of one argument that come or go, as rows beside the changes."""
    node, counts = op.node, _counts(op.node, one)
    parts = parts_of(counts, keep_groups(counts, ChangelogMode.RETRACT, {}), ctx.now)
    schema = acc.state_schema(group_fields(counts), parts)
    state = ctx.stages.aggregate_state(table.name, schema)
    rows = _values(node, one, changes, ctx.now)
    within = {name: below.bounds[name] for name in node.group if name in below.bounds}
    counted = bounds_of_expression(one.argument, below.bounds)
    within |= {} if counted is None else {VALUE_COUNT: counted}
    partial = partial_of(counts.group, rows, parts)
    merged = merge_stored(counts, partial, rows, parts, state, within, ctx)
    done = state.keep(merged, transition_schema(counts, parts))
    signs = [_sign(part.columns[0].name) for part in parts]
    texts = dict(columns)
    columns_of = value_columns(op.distinct)
    for call, condition in one.calls.items():
        texts |= dict(zip(columns_of[call], (VALUE_COUNT, signs[condition]), strict=True))
    inputs = [
        ident(f.name)
        if f.name in node.group
        else f"CAST(NULL AS {spark_type(f.type)}) AS {ident(f.name)}"
        for f in node.input.schema
    ]
    made = [f"CAST({text} AS {type_}) AS {name}" for name, text, type_ in _with_types(op, texts)]
    moved = " OR ".join(f"{sign} <> 0" for sign in signs)
    return done.where(moved).selectExpr(*inputs, f"0 AS {WEIGHT}", *made)


def _sign(column: str) -> str:
    """Return the text of how the presence of a value changes: 1, -1 or 0."""
    new, old = (f"CAST(coalesce({side}{column}, 0L) > 0 AS INT)" for side in (NEW, OLD))
    return f"({new} - {old})"


def _counts(node: n.Aggregate, one: Distinct) -> n.Aggregate:
    """Return the aggregate that counts how often each value of an argument is there."""
    passed: list[tuple[str, Expr]] = [
        (c, ColumnRef(node.input.field(c).type, c)) for c in node.group
    ]
    flags: list[tuple[str, Expr]] = []
    calls = []
    for m, condition in enumerate(one.filters):
        wanted = None
        if condition is not None:
            flags.append((f"{_PASSES}{m}", condition))
            wanted = ColumnRef(BOOLEAN, f"{_PASSES}{m}")
        calls.append((f"__count{m}", AggCall("count", (), BIGINT, filter=wanted)))
    below = n.Project(node.input, (*passed, (VALUE_COUNT, one.argument), *flags))
    return n.Aggregate(below, (*node.group, VALUE_COUNT), tuple(calls))


def _values(node: n.Aggregate, one: Distinct, changes: DataFrame, now: int) -> DataFrame:
    """Return the changes as group, value, conditions and weight; NULL is no value."""
    flags = [
        f"{compile_expr(condition, now).value} AS {_PASSES}{m}"
        for m, condition in enumerate(one.filters)
        if condition is not None
    ]
    value = f"{compile_expr(one.argument, now).value} AS {VALUE_COUNT}"
    rows = changes.selectExpr(*map(ident, node.group), value, *flags, WEIGHT)
    return rows.where(f"{VALUE_COUNT} IS NOT NULL")
