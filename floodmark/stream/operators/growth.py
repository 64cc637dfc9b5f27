"""Columns of groups whose values only rise, or only fall: counts and extrema of rows that stay.

Their maximum, or minimum, over groups of groups needs the new values alone: no later one takes it
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef
from floodmark.stream.operators.base import Key, StreamOperator
from floodmark.stream.properties.aggregate_calls import aggregate_of, overflows


def growth_directions(operator: StreamOperator[Any], group: Key) -> Mapping[str, str]:
    """Return columns whose values only grow, by name the extremum that they grow towards.

    So it is while rows of an operator stay in one group of the columns `group`. A row that may be
    put aside is none that stays.
    """
    node = operator.node
    if isinstance(node, n.Project):
        if not all(isinstance(expr, ColumnRef) for _, expr in node.columns):
            return {}
        passed = {name: e.name for name, e in node.columns if isinstance(e, ColumnRef)}
        below = growth_directions(operator.input, tuple(passed[c] for c in group))
        return {name: below[c] for name, c in passed.items() if c in below}
    if not isinstance(node, n.Aggregate) or not operator.input.append_only:
        return {}
    if not set(group) <= set(node.group) or any(overflows(call) for _, call in node.aggregates):
        return {}
    towards = ((name, _extremum_of(call)) for name, call in node.aggregates)
    return {name: extremum for name, extremum in towards if extremum is not None}


def _extremum_of(call: AggCall) -> str | None:
    """Return towards which extremum the value of a call grows as rows come, if it does."""
    return "max" if call.function == "count" else aggregate_of(call).extremum
