"""Series that end at `now()`: `generate_series(start, now(), step)` has more values as time passes.

Its start and step depend on the row alone, and the step is positive. So a value that has been
reached stays, and the next value is known.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.bind.calls import bind_call
from floodmark.plan.expr.determinism import is_deterministic, reads_now
from floodmark.plan.expr.expressions import Call, Expr, Literal, columns_of
from floodmark.plan.rules.inverses import first_time
from floodmark.scalar.types import INTERVAL


def growing(node: n.ProjectSet) -> n.GrowingSeries | None:
    """Return the node as a series that grows with the time; None where it is none."""
    match node.call:
        case Call(function="generate_series", args=(start, stop, Literal() as step)):
            pass
        case _:
            return None
    stays = not reads_now(start) and is_deterministic(start)
    rises = step.type == INTERVAL and step.value is not None and _is_upwards(step.value)
    ends = reads_now(stop) and not columns_of(stop)
    if not (stays and rises and ends) or node.outer:
        return None
    series = n.GrowingSeries(
        node.input, node.call, node.outputs, node.ordinal, node.unpacks, node.outer, span=node.span
    )
    return None if first_time(stop, start, after=False) is None else series


def _is_upwards(step: tuple[int, int, int]) -> bool:
    return any(step) and all(part >= 0 for part in step)


def series_tail(node: n.GrowingSeries, value: Expr) -> Expr:
    """Return the values of the series from one of them on."""
    assert isinstance(node.call, Call)
    return replace(node.call, args=(value, *node.call.args[1:]))


def following(node: n.GrowingSeries, value: Expr) -> Expr:
    """Return the value after one of the series."""
    assert isinstance(node.call, Call)
    return bind_call("+", (value, node.call.args[2]), node.call.span)


def entry_time(node: n.GrowingSeries, value: Expr) -> Expr:
    """Return the first `now()` at which a value is in the series, as a TIMESTAMPTZ."""
    assert isinstance(node.call, Call)
    expr = first_time(node.call.args[1], value, after=False)
    assert expr is not None
    return expr
