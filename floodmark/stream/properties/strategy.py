"""How an operator's changes are computed, and why: by exact delta, or for the touched scope.

The rules are those by which `floodmark.dataflow.operators` works; EXPLAIN prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Expr
from floodmark.scalar.functions import aggregate_for
from floodmark.stream.properties.dynamic_filter import is_dynamic_filter
from floodmark.stream.properties.reach import reach_of

Modes = tuple[ChangelogMode, ...]


class Computed(Enum):
    """The ways in which changes are computed."""

    NOTHING = "nothing to compute"
    DELTA = "exact delta"
    SCOPE = "touched scope recomputed"
    STORED = "stored once"
    RELEASED = "released by the watermark"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way and its text; `scope` are the columns whose touched values are recomputed."""

    computed: Computed
    text: str
    scope: tuple[str, ...] = ()


EXACT = Strategy(Computed.DELTA, "exact delta")


_VALUES = Strategy(Computed.DELTA, "exact delta by how often each value is there")


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
    if isinstance(node, n.CloseAggregate):
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
        return Strategy(Computed.SCOPE, recomputed_text("groups", group, why), group)
    if counts_values(call) and not closes:
        return _VALUES
    entry = aggregate_for(call.function, (arg.type for arg in call.args))
    if entry.is_sum(arg.type for arg in call.args):
        return EXACT
    return Strategy(Computed.DELTA, "exact delta because the input is append-only")


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


def derive(node: n.Node, modes: Modes) -> Strategy:
    """Return how the changes of a node are computed from inputs of these changelog modes."""
    match node:
        case n.Scan() | n.Values():
            return Strategy(Computed.NOTHING, "read as it is")
        case n.Aggregate() | n.CloseAggregate():
            return _aggregate(node, modes[0])
        case n.Join():
            return _join(node)
        case n.LookupJoin():
            return Strategy(Computed.STORED, "looked up once per left row, at the epoch's cut")
        case n.TopN():
            return _top(node, modes[0])
        case n.OverWindow():
            return Strategy(Computed.SCOPE, _over(node), node.partition)
        case n.SetOperation():
            names = tuple(c for c in node.left.names if not is_hidden(c))
            why = "copies of a row on both sides decide"
            return Strategy(Computed.SCOPE, recomputed_text("rows", names, why), names)
        case n.CloseSession():
            return Strategy(Computed.RELEASED, "held until the watermark has passed the session")
        case n.Session():
            text = "touched sessions recomputed because a row can merge or split them"
            return Strategy(Computed.SCOPE, text, node.partition)
        case n.TemporalFilter():
            return Strategy(Computed.DELTA, "exact delta, and the rows whose bound falls due")
        case n.GrowingSeries():
            return Strategy(Computed.DELTA, "exact delta, and the series whose next value is due")
        case n.MaterializeProject():
            return Strategy(Computed.STORED, "evaluated once and stored by stream key")
        case n.SortBuffer():
            return Strategy(Computed.RELEASED, "held until the watermark has passed")
        case _:
            return EXACT


def _over(node: n.OverWindow) -> str:
    reach = reach_of(node)
    if reach is None:
        why = "a row changes the frames around it"
        return recomputed_text("partitions", node.partition, why)
    unit = {"ROWS": "rows", "GROUPS": "groups", "RANGE": "values"}[reach.unit]
    return f"touched ranges recomputed because frames end so many {unit} from their row"


def recomputed_text(what: str, columns: tuple[str, ...], why: str) -> str:
    scope = f"touched {what} recomputed" if columns else "everything recomputed"
    return f"{scope} because {why}"


def _aggregate(node: n.Aggregate | n.CloseAggregate, mode: ChangelogMode) -> Strategy:
    closes = isinstance(node, n.CloseAggregate)
    calls = [call for _, call in node.aggregates]
    each = (aggregate_strategy(c, mode, group=node.group, closes=closes) for c in calls)
    return next((s for s in each if s.computed is Computed.SCOPE), EXACT)


def _join(node: n.Join) -> Strategy:
    left, right = ([p[i] for p in node.equi] for i in (0, 1))
    match node.kind:
        case n.JoinKind.INNER:
            return EXACT
        case n.JoinKind.SEMI if is_dynamic_filter(node):
            text = "exact delta of the left side; left rows between the old and the new value"
            return Strategy(Computed.SCOPE, text)
        case n.JoinKind.SEMI | n.JoinKind.ANTI:
            return _kept("left", left, "a match decides whether a left row is there")
        case n.JoinKind.LEFT:
            return _kept("left", left, "a left row without a match is padded")
        case n.JoinKind.RIGHT:
            return _kept("right", right, "a right row without a match is padded")
        case n.JoinKind.FULL:
            keys, why = tuple(left), "rows without a match are padded"
            return Strategy(Computed.SCOPE, recomputed_text("keys", keys, why), keys)


def _kept(side: str, keys: list[str], why: str) -> Strategy:
    text = f"touched keys recomputed because {why}"
    if not keys:
        text = f"all its rows recomputed when the other one changes because {why}"
    return Strategy(Computed.SCOPE, f"exact delta of the {side} side; {text}", tuple(keys))


def keeps_first(node: n.TopN, mode: ChangelogMode) -> bool:
    """Tell whether the first rows of what only grows are among those of before and the new ones."""
    return mode is ChangelogMode.APPEND_ONLY and not node.offset and node.limit is not None


def _top(node: n.TopN, mode: ChangelogMode) -> Strategy:
    if keeps_first(node, mode):
        many = "row is" if node.limit == 1 else f"{node.limit} rows are"
        return Strategy(Computed.DELTA, f"exact delta: the first {many} kept")
    why = "another row takes the place of one that goes"
    return Strategy(Computed.SCOPE, recomputed_text("groups", node.group, why), node.group)
