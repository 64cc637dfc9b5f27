"""How an operator's changes are computed, and why: by exact delta, or for the touched scope.

The rules are those by which `floodmark.dataflow.operators` works; EXPLAIN prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Expr
from floodmark.scalar.functions import aggregate_for


class DeltaMethod(Enum):
    """The ways in which changes are computed."""

    NOTHING = "nothing to compute"
    DELTA = "exact delta"
    SCOPE = "touched scope recomputed"
    STORED = "stored once"
    RELEASED = "released by the watermark"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way and its text; `scope` are the columns whose touched values are recomputed."""

    method: DeltaMethod
    text: str
    scope: tuple[str, ...] = ()


EXACT = Strategy(DeltaMethod.DELTA, "exact delta")


_VALUES = Strategy(DeltaMethod.DELTA, "exact delta by how often each value is there")


@dataclass(frozen=True, slots=True)
class Distinct:
    """Calls of one aggregate node that take each value of one argument once.

    `filters` are their conditions, each once, None for none; `calls` give for the position of a
    call that of its condition.
    """

    argument: Expr
    filters: tuple[Expr | None, ...]
    calls: Mapping[int, int]


def distinct_arguments(node: n.Aggregate | n.CloseAggregate) -> tuple[Distinct, ...]:
    """Return the arguments of which it is kept how often each value is there."""
    if node.CLOSES:
        return ()
    found: dict[Expr, list[tuple[int, Expr | None]]] = {}
    for i, (_, call) in enumerate(node.aggregates):
        if counts_values(call):
            found.setdefault(call.args[0], []).append((i, call.filter))
    out = []
    for argument, calls in found.items():
        filters = tuple(dict.fromkeys(condition for _, condition in calls))
        out.append(Distinct(argument, filters, {i: filters.index(c) for i, c in calls}))
    return tuple(out)


def counts_values(call: AggCall) -> bool:
    """Tell whether an aggregate with DISTINCT is a sum over the values that are there."""
    entry = aggregate_for(call.function, (arg.type for arg in call.args))
    if not call.distinct or entry.ignores_distinct:
        return False
    if not entry.is_sum(arg.type for arg in call.args):
        return False
    return len(call.args) == 1 and call.args[0].type.is_orderable


def aggregate_strategy(
    call: AggCall, mode: ChangelogMode, *, group: tuple[str, ...] = (), closes: bool = False
) -> Strategy:
    """Return how one aggregate is kept over input of a changelog mode.

    `group` are its group columns; `closes` tells that it emits on window close.
    """
    why = _no_delta(call, mode, closes=closes)
    if why is not None:
        return Strategy(DeltaMethod.SCOPE, recompute_text("groups", group, why), group)
    if counts_values(call) and not closes:
        return _VALUES
    entry = aggregate_for(call.function, (arg.type for arg in call.args))
    if entry.is_sum(arg.type for arg in call.args):
        return EXACT
    return Strategy(DeltaMethod.DELTA, "exact delta because the input is append-only")


def _no_delta(call: AggCall, mode: ChangelogMode, *, closes: bool) -> str | None:
    """Return why an aggregate's group is read again, None where it is not."""
    if counts_values(call) and not closes:
        return None
    entry = aggregate_for(call.function, (arg.type for arg in call.args))
    if call.distinct and not entry.ignores_distinct:
        return f"{call.function} with DISTINCT is not a sum"
    if call.order_by and not entry.ordered_set:
        return f"{call.function} with ORDER BY is not a sum"
    if entry.is_sum(arg.type for arg in call.args):
        return None
    if entry.extremum is None:
        return f"{call.function} is not a sum"
    return (
        None if mode is ChangelogMode.APPEND_ONLY else f"{call.function} is over a retracting input"
    )


def recompute_text(what: str, columns: tuple[str, ...], why: str) -> str:
    scope = f"touched {what} recomputed" if columns else "everything recomputed"
    return f"{scope} because {why}"
