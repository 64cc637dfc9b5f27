"""What the registry says of an aggregate call."""

from __future__ import annotations

from floodmark.plan.expr.expressions import AggCall
from floodmark.scalar.functions import AggregateFunction, aggregate_overload


def aggregate_of(call: AggCall) -> AggregateFunction:
    """Return the registry's entry of an aggregate call."""
    return aggregate_overload(call.function, (arg.type for arg in call.args))


def overflows(call: AggCall) -> bool:
    """Tell whether a group can have no value: it is out of range."""
    test = aggregate_of(call).overflows
    return test is not None and test(tuple(a.type for a in call.args))
