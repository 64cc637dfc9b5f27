"""How an operator's changes are computed: by exact delta, or for what changes touch.

A strategy is a value of the operator. `floodmark.dataflow` decides by it what to compute, and
`floodmark.stream.printing.strategies` makes EXPLAIN's text of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Expr, columns_of
from floodmark.scalar.functions import aggregate_overload
from floodmark.stream.properties.reach import Reach

Key = tuple[str, ...]


class Method(Enum):
    """The ways that have no parameter."""

    READ = auto()
    """Nothing is computed."""
    EXACT = auto()
    """Each changed row, or pair of rows, gives its changes."""
    FALLS_DUE = auto()
    """So it is, and rows come and go when their time has come."""
    SERIES_GROW = auto()
    """So it is, and series have another value when its time has come."""
    DYNAMIC_FILTER = auto()
    """Left rows are compared with one row; a new one concerns those between it and the old one."""
    EVALUATED_ONCE = auto()
    """Values are stored, because a second evaluation would give others."""
    LOOKED_UP_ONCE = auto()
    """Each left row is paired with what is there at the epoch's cut."""
    ROWS_HELD = auto()
    """The watermark releases rows."""
    SESSIONS_HELD = auto()
    """The watermark releases sessions."""


class Upkeep(Enum):
    """How one aggregate is kept."""

    ADDED = auto()
    """Changes are added to sums."""
    EXTREMUM = auto()
    """The extremum is that of before or of the new rows: the input is append-only."""
    GROWING = auto()
    """So it is over values that change, but only grow towards it."""
    SCOPE = auto()
    """Touched groups are computed again."""
    VALUES = auto()
    """Sums over the values that are there: how often each one is there is kept."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """Calls of one aggregate node that take each value of one argument once.

    `filters` are their conditions, each once, None for none; `calls` give for the position of a
    call that of its condition.
    """

    argument: Expr
    filters: tuple[Expr | None, ...]
    calls: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class KeepGroups:
    """One row per group; each call is kept in its own way.

    For each argument in `distinct`, the count of each value is stored.
    """

    group: Key
    calls: tuple[AggCall, ...]
    upkeeps: tuple[Upkeep, ...]
    distinct: tuple[Distinct, ...]

    @property
    def recomputes(self) -> bool:
        """Tell whether touched groups are computed from all of their rows."""
        return Upkeep.SCOPE in self.upkeeps


@dataclass(frozen=True, slots=True)
class KeepFirst:
    """So many first rows: they are among those of before and the new ones."""

    rows: int


@dataclass(frozen=True, slots=True)
class RecomputeMatches:
    """Exact delta of one side; its rows of the keys that the other side's changes touch, again.

    Each of `pairs` is a column of the kept side and the one of the other side that it equals.
    `pads` tells that kept rows without a match are padded; else a match decides whether one is
    there.
    """

    kept: Literal["left", "right"]
    pairs: tuple[tuple[str, str], ...]
    pads: bool


class ScopeKind(Enum):
    """What has the same values in the scope columns."""

    GROUPS = auto()
    PARTITIONS = auto()
    KEYS = auto()
    ROWS = auto()
    SESSIONS = auto()
    """Of a partition, those sessions that changes touch."""


@dataclass(frozen=True, slots=True)
class RecomputeScopes:
    """What changes touch, before and after them.

    `scopes` are the scope columns of each input; they meet by position. Without any, everything is
    touched.
    """

    what: ScopeKind
    scopes: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class RecomputeRanges:
    """Of touched partitions the rows that see a change, because frames end within a reach."""

    scopes: tuple[Key, ...]
    reach: Reach


Recompute = RecomputeScopes | RecomputeRanges
Strategy = Method | KeepGroups | KeepFirst | RecomputeMatches | Recompute


def recomputes(strategy: Strategy) -> bool:
    """Tell whether rows are computed again that are not among the changes."""
    if isinstance(strategy, KeepGroups):
        return strategy.recomputes
    again = (RecomputeMatches, RecomputeScopes, RecomputeRanges)
    return strategy is Method.DYNAMIC_FILTER or isinstance(strategy, again)


def keep_groups(
    node: n.Aggregate | n.CloseAggregate, mode: ChangelogMode, growth: Mapping[str, str]
) -> KeepGroups:
    """Return how the groups of a node are kept over input of a changelog mode.

    `growth` has columns of rows that stay in their group, with the extremum towards which their
    values grow.
    """
    calls = tuple(call for _, call in node.aggregates)
    upkeeps = [_upkeep_of(call, closes=node.CLOSES) for call in calls]
    if mode is not ChangelogMode.APPEND_ONLY:
        upkeeps = [
            _extremum_of_changes(call, growth, node.group) if kept is Upkeep.EXTREMUM else kept
            for call, kept in zip(calls, upkeeps, strict=True)
        ]
    distinct = () if node.CLOSES else _distinct_arguments(calls)
    return KeepGroups(node.group, calls, tuple(upkeeps), distinct)


def _distinct_arguments(calls: tuple[AggCall, ...]) -> tuple[Distinct, ...]:
    """Return the arguments of which it is kept how often each value is there."""
    found: dict[Expr, list[tuple[int, Expr | None]]] = {}
    for i, call in enumerate(calls):
        if _counts_values(call):
            found.setdefault(call.args[0], []).append((i, call.filter))
    out = []
    for argument, asked in found.items():
        filters = tuple(dict.fromkeys(condition for _, condition in asked))
        out.append(Distinct(argument, filters, {i: filters.index(c) for i, c in asked}))
    return tuple(out)


def _counts_values(call: AggCall) -> bool:
    """Tell whether an aggregate with DISTINCT is a sum over the values that are there."""
    entry = aggregate_overload(call.function, (arg.type for arg in call.args))
    if not needs_each_value(call):
        return False
    if not entry.is_sum(arg.type for arg in call.args):
        return False
    return len(call.args) == 1 and call.args[0].type.is_orderable


def _upkeep_of(call: AggCall, *, closes: bool) -> Upkeep:
    """Return how one aggregate is kept while rows only come; `closes`: it emits on window close."""
    if _counts_values(call) and not closes:
        return Upkeep.VALUES
    entry = aggregate_overload(call.function, (arg.type for arg in call.args))
    if needs_each_value(call) or (call.order_by and not entry.ordered_set):
        return Upkeep.SCOPE
    if entry.is_sum(arg.type for arg in call.args):
        return Upkeep.ADDED
    return Upkeep.SCOPE if entry.extremum is None else Upkeep.EXTREMUM


def _extremum_of_changes(call: AggCall, growth: Mapping[str, str], group: Key) -> Upkeep:
    """Return how an extremum is kept of rows that change.

    They do not take it back where values grow towards it, and rows that FILTER lets in stay in.
    """
    (value,) = call.args
    towards = growth.get(value.name) if isinstance(value, ColumnRef) else None
    asked = () if call.filter is None else columns_of(call.filter)
    entry = aggregate_overload(call.function, (value.type,))
    grows = towards == entry.extremum and set(group).issuperset(asked)
    return Upkeep.GROWING if grows else Upkeep.SCOPE


def needs_each_value(call: AggCall) -> bool:
    """Tell whether an aggregate with DISTINCT gives another value than one without."""
    entry = aggregate_overload(call.function, (arg.type for arg in call.args))
    return call.distinct and not entry.ignores_distinct
