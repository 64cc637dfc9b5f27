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


class Upkeep(Enum):
    """How one aggregate is kept: what runs goes by it, and EXPLAIN says it."""

    ADDED = "exact delta"
    EXTREMUM = "exact delta because the input is append-only"
    SCOPE = "touched groups recomputed"
    VALUES = "exact delta by how often each value is there"


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


def upkeep_of(call: AggCall, mode: ChangelogMode, *, closes: bool) -> Upkeep:
    """Return how one aggregate is kept over input of a changelog mode.

    `closes` tells that it emits on window close.
    """
    if counts_values(call) and not closes:
        return Upkeep.VALUES
    entry = aggregate_for(call.function, (arg.type for arg in call.args))
    if _needs_each_value(call) or (call.order_by and not entry.ordered_set):
        return Upkeep.SCOPE
    if entry.is_sum(arg.type for arg in call.args):
        return Upkeep.ADDED
    only_added = mode is ChangelogMode.APPEND_ONLY
    return Upkeep.EXTREMUM if entry.extremum is not None and only_added else Upkeep.SCOPE


def aggregate_strategy(upkeep: Upkeep, call: AggCall, group: tuple[str, ...]) -> Strategy:
    """Return the method and the text of how one aggregate is kept in its group columns."""
    if upkeep is Upkeep.SCOPE:
        why = f"{call.function} {_obstacle(call)}"
        return Strategy(DeltaMethod.SCOPE, recompute_text("groups", group, why), group)
    return Strategy(DeltaMethod.DELTA, upkeep.value)


def _needs_each_value(call: AggCall) -> bool:
    entry = aggregate_for(call.function, (arg.type for arg in call.args))
    return call.distinct and not entry.ignores_distinct


def _obstacle(call: AggCall) -> str:
    """Return why the group of an aggregate has to be read again."""
    entry = aggregate_for(call.function, (arg.type for arg in call.args))
    if _needs_each_value(call):
        return "with DISTINCT is not a sum"
    if call.order_by and not entry.ordered_set:
        return "with ORDER BY is not a sum"
    return "is not a sum" if entry.extremum is None else "is over a retracting input"


def recompute_text(what: str, columns: tuple[str, ...], why: str) -> str:
    scope = f"touched {what} recomputed" if columns else "everything recomputed"
    return f"{scope} because {why}"
