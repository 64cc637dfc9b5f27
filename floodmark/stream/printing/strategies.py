"""The text of a strategy in EXPLAIN: how changes are computed, and why."""

from __future__ import annotations

from typing import assert_never

from floodmark.plan.expr.expressions import AggCall
from floodmark.scalar.functions import aggregate_overload
from floodmark.stream.properties.strategy import (
    KeepFirst,
    KeepGroups,
    Key,
    Method,
    RecomputeMatches,
    RecomputeRanges,
    RecomputeScopes,
    ScopeKind,
    Strategy,
    Upkeep,
    needs_each_value,
)

_METHODS = {
    Method.READ: "read as it is",
    Method.EXACT: "exact delta",
    Method.FALLS_DUE: "exact delta, and the rows whose bound falls due",
    Method.SERIES_GROW: "exact delta, and the series whose next value is due",
    Method.DYNAMIC_FILTER: (
        "exact delta of the left side; left rows between the old and the new value"
    ),
    Method.EVALUATED_ONCE: "evaluated once and stored by stream key",
    Method.LOOKED_UP_ONCE: "looked up once per left row, at the epoch's cut",
    Method.ROWS_HELD: "held until the watermark has passed",
    Method.SESSIONS_HELD: "held until the watermark has passed the session",
}
_UPKEEPS = {
    Upkeep.ADDED: "exact delta",
    Upkeep.EXTREMUM: "exact delta because the input is append-only",
    Upkeep.GROWING: "exact delta because the values only grow towards it",
    Upkeep.VALUES: "exact delta by how often each value is there",
}
_SCOPES = {
    ScopeKind.GROUPS: ("groups", "another row takes the place of one that goes"),
    ScopeKind.PARTITIONS: ("partitions", "a row changes the frames around it"),
    ScopeKind.KEYS: ("keys", "rows without a match are padded"),
    ScopeKind.ROWS: ("rows", "copies of a row on both sides decide"),
}
_UNITS = {"ROWS": "rows", "GROUPS": "groups", "RANGE": "values"}


def strategy_text(strategy: Strategy) -> str:
    """Return how changes are computed; of groups, that of the first call that is recomputed."""
    match strategy:
        case Method():
            return _METHODS[strategy]
        case KeepGroups():
            texts = zip(strategy.upkeeps, call_texts(strategy), strict=True)
            again = (text for upkeep, text in texts if upkeep is Upkeep.SCOPE)
            return next(again, _METHODS[Method.EXACT])
        case KeepFirst(1):
            return "exact delta: the first row is kept"
        case KeepFirst(rows):
            return f"exact delta: the first {rows} rows are kept"
        case RecomputeMatches():
            return _matches_text(strategy)
        case RecomputeScopes(ScopeKind.SESSIONS):
            return "touched sessions recomputed because a row can merge or split them"
        case RecomputeScopes(what, scopes):
            noun, why = _SCOPES[what]
            return _recompute_text(noun, scopes[0], why)
        case RecomputeRanges(reach=reach):
            unit = _UNITS[reach.unit]
            return f"touched ranges recomputed because frames end so many {unit} from their row"
        case _:
            assert_never(strategy)


def call_texts(strategy: KeepGroups) -> tuple[str, ...]:
    """Return how each call is kept, and why where it is not by exact delta."""
    kept = zip(strategy.calls, strategy.upkeeps, strict=True)
    return tuple(_call_text(call, upkeep, strategy.group) for call, upkeep in kept)


def _call_text(call: AggCall, upkeep: Upkeep, group: Key) -> str:
    if upkeep is not Upkeep.SCOPE:
        return _UPKEEPS[upkeep]
    return _recompute_text("groups", group, f"{call.function} {_obstacle(call)}")


def _obstacle(call: AggCall) -> str:
    """Return why the group of an aggregate has to be read again."""
    entry = aggregate_overload(call.function, (arg.type for arg in call.args))
    if needs_each_value(call):
        return "with DISTINCT is not a sum"
    if call.order_by and not entry.ordered_set:
        return "with ORDER BY is not a sum"
    return "is not a sum" if entry.extremum is None else "is over a retracting input"


def _matches_text(strategy: RecomputeMatches) -> str:
    side = strategy.kept
    why = f"a match decides whether a {side} row is there"
    if strategy.pads:
        why = f"a {side} row without a match is padded"
    again = "touched keys recomputed"
    if not strategy.pairs:
        again = "all its rows recomputed when the other one changes"
    return f"exact delta of the {side} side; {again} because {why}"


def _recompute_text(what: str, columns: Key, why: str) -> str:
    scope = f"touched {what} recomputed" if columns else "everything recomputed"
    return f"{scope} because {why}"
