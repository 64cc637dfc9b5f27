"""Accumulator columns are those that the compiler writes: of each aggregate, type and pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.dataflow.groups import accumulators as acc
from floodmark.dataflow.groups.transitions import parts_of
from floodmark.errors import FloodmarkError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.collectors import AggregateCollector
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.expr.expressions import AggCall
from floodmark.scalar.functions import AGGREGATES
from floodmark.scalar.types import Field, Schema
from floodmark.sql.parse import parse_expression
from floodmark.stream.operators.accumulator_columns import accumulators, ties_of, value_columns
from floodmark.stream.properties.strategy import keep_groups
from tests.spark.expression_rows import SCHEMA

SCAN = n.Scan("t", SCHEMA, ("k", "ts"), ChangelogMode.RETRACT)
NOW = 1_700_000_000_000_000
FORMS = (
    "{f}({x})", "{f}(distinct {x})", "{f}({x}) filter (where p)",
    "{f}(distinct {x}) filter (where q)",
    "{f}({x} order by {x})", "{f}({x} order by k desc)", "{f}({x} order by d nulls first, k)",
    "{f}(distinct {x} order by {x} desc)", "{f}({x}, 'a')", "{f}({x}, {x} order by k)",
    "{f}({x}, t)",
    "{f}() within group (order by {x})", "{f}() within group (order by {x} desc nulls last)",
    "{f}(0.5) within group (order by {x})", "{f}(0.5) within group (order by {x} nulls first)",
    "{f}(array[0.1, 0.5]) within group (order by {x}) filter (where p)", "{f}(*)",
)  # fmt: skip
ARGUMENTS = (*(f.name for f in SCHEMA), "to_jsonb(i)", "array[i]", "row(i, s)", "(p and q)")
ALIKE = (
    "sum(i)", "avg(coalesce(i))", "sum(coalesce(i))", "count(coalesce(i))", "sum(mod(i, 2))",
    "avg(i % 2)", "sum(length(s))", "avg(char_length(s))", "max(i + 1)", "max(1 + i)",
    "sum(b::bigint)",
    "avg(b)", "array_agg(i order by i)", "array_agg(i order by coalesce(i))",
    "count(*)", "count(1)",
    "sum(d * 0.0)", "sum(d * -0.0)", "bool_and(p)", "every(p) filter (where p)", "min(distinct i)",
    "any_value(s order by k)", "first_value(s order by k)", "count(i order by k)",
    "sum(w order by k)",
)  # fmt: skip


def call_of(text: str) -> AggCall:
    collector = AggregateCollector()
    context = BindContext(Span.at(text, 0, 0))
    bind_scalar(parse_expression(text), SchemaScope(SCHEMA), context, aggregates=collector)
    return collector.calls[0][1]


def calls_of(function: str) -> Iterator[AggCall]:
    for x in ARGUMENTS:
        for form in FORMS:
            with suppress(FloodmarkError):
                yield call_of(form.format(f=function, x=x))


def node_of(calls: Iterable[AggCall], *, closes: bool) -> n.Aggregate | n.CloseAggregate:
    named = tuple((f"a{i}", call) for i, call in enumerate(calls))
    if closes:
        return n.CloseAggregate(SCAN, ("us", "k"), named, "us")
    return n.Aggregate(SCAN, ("k",), named)


def compiled_columns(node: n.Aggregate | n.CloseAggregate, mode: ChangelogMode) -> Schema:
    """Return the columns that differ in a text of theirs, of the first that has each."""
    keeps = keep_groups(node, mode, {})
    values, first = value_columns(keeps.distinct), dict[object, Field]()
    for i, (name, call) in enumerate(node.aggregates):
        upkeep, ties = keeps.upkeeps[i], ties_of(node)
        part = acc.accumulate(name, i, call, upkeep, NOW, ties, values=values.get(i))
        for field, *texts in zip(part.columns, part.partial, part.merge, strict=True):
            first.setdefault((part.upkeep, field.type, *texts), field)
    return tuple(first.values())


@pytest.fixture(scope="module")
def calls() -> list[AggCall]:
    found = {function: [*calls_of(function)] for function in AGGREGATES}
    assert all(found.values())
    return [*(call for each in found.values() for call in each), *map(call_of, ALIKE)]


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize("mode", [ChangelogMode.APPEND_ONLY, ChangelogMode.RETRACT])
def test_columns_are_those_that_are_written(
    calls: list[AggCall], mode: ChangelogMode, closes: bool
) -> None:
    node = node_of(calls, closes=closes)
    keeps = keep_groups(node, mode, {})
    columns = accumulators(node, keeps, acc.printer(0))
    assert columns == compiled_columns(node, mode)
    assert columns == tuple(f for part in parts_of(node, keeps, NOW) for f in part.columns)
