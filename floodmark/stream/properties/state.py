"""State that an operator keeps beyond what persisted objects hold already.

An input that is a persisted object, or the groups of an aggregate, seen through deterministic
row-local operators and joins is its own arrangement; every other input that must be read again gets
a table of its consolidated rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.plan.expr.printing import shown
from floodmark.stream.properties import strategy
from floodmark.stream.properties.cleaning import cleaned_by


@dataclass(frozen=True, slots=True)
class StateTable:
    """One table under `_state/<object>/<name>`: its role, its key, what cleans it."""

    name: str
    role: str
    key: tuple[str, ...]
    cleaned_by: str | None = None

    @property
    def cleaning(self) -> str:
        """Return in words what removes its rows."""
        if self.cleaned_by is not None:
            return f"watermark of {shown(self.cleaned_by)}"
        return _CLEANING[self.role]


class Beside(Enum):
    """What the own table of an object can hold of an operator, where its rows are the object's."""

    GROUPS = "accumulators beside each row"
    ROWS = "its rows of before"


_CLEANING = {
    "accumulators": "the group's end",
    "distinct values": "the value's end",
    "input arrangement": "merges, after the row's end",
    "stored values": "the row's end",
    "looked-up rows": "the row's end",
    "first rows": "rows that come before",
    "an epoch's rows": "the next epoch",
    "an epoch's fetched rows": "the next epoch",
    "rows": "the watermark",
    "open sessions": "the watermark",
    "changes to come": "their time",
}


def derive(
    node: n.Node,
    identifier: str,
    modes: tuple[ChangelogMode, ...],
    key: tuple[str, ...] = (),
    watermarks: tuple[tuple[n.WatermarkColumn, ...], ...] = (),
) -> tuple[StateTable, ...]:
    """Return the state tables of one node.

    `identifier` is its name in the plan, `modes` and `watermarks` are the changelog modes and the
    watermark columns of its inputs, `key` is the stream key of the first one.
    """
    marks = tuple(frozenset(w.column for w in columns) for columns in watermarks)
    cleaned = [None if c is None else c.column for c in cleaned_by(node, marks)]
    match node:
        case n.MaterializeProject() | n.LookupJoin():
            updating = bool(modes) and modes[0] is not ChangelogMode.APPEND_ONLY
            return _beside_rows(node, identifier, key, updating=updating, watermarks=watermarks)
        case n.CloseAggregate() | n.SortBuffer() if closes_from_input(node, modes[0]):
            return ()
        case n.Aggregate():
            own = StateTable(f"{identifier}_aggregate", "accumulators", node.group)
            return (
                own,
                *_values(node, identifier),
                *_arrangement(node, identifier, modes, cleaned),
            )
        case n.CloseAggregate():
            own = StateTable(f"{identifier}_aggregate", "accumulators", node.group, node.window)
            return (own, *_arrangement(node, identifier, modes, cleaned))
        case n.SortBuffer():
            return (StateTable(held_name(identifier), "rows", (node.column,), node.column),)
        case n.Join():
            keys = [tuple(p[i] for p in node.equi) for i in (0, 1)]
            return _arrangements(node, identifier, keys, cleaned)
        case n.SetOperation():
            compared = [[c for c in side.names if not is_hidden(c)] for side in node.inputs]
            return _arrangements(node, identifier, [tuple(names) for names in compared], cleaned)
        case n.TopN() if strategy.keeps_first(node, modes[0]):
            return (StateTable(first_name(identifier), "first rows", node.group, *cleaned),)
        case n.TopN():
            return _arrangements(node, identifier, [node.group], cleaned)
        case n.CloseSession():
            return (StateTable(held_name(identifier), "open sessions", (node.time,), node.end),)
        case n.OverWindow() | n.Session():
            return _arrangements(node, identifier, [node.partition], cleaned)
        case n.TemporalFilter() | n.GrowingSeries():
            return (StateTable(due_name(identifier), "changes to come", (DUE_AT,)),)
        case _:
            return ()


def _beside_rows(
    node: n.MaterializeProject | n.LookupJoin,
    identifier: str,
    key: tuple[str, ...],
    *,
    updating: bool,
    watermarks: tuple[tuple[n.WatermarkColumn, ...], ...],
) -> tuple[StateTable, ...]:
    """Return what is kept beside each row of the input as long as it, or only for the epoch."""
    by = next((w.column for w in watermarks[0]), None) if updating else None
    match node:
        case n.MaterializeProject() if updating:
            return (StateTable(f"{identifier}_stored", "stored values", key, by),)
        case n.MaterializeProject():
            return (StateTable(f"{identifier}_evaluated", "an epoch's rows", key),)
        case n.LookupJoin() if node.stored and updating:
            return (StateTable(f"{identifier}_lookup", "looked-up rows", key, by),)
        case n.LookupJoin() if node.external is not None:
            asked = tuple(b for _, b in node.equi)
            return (StateTable(f"{identifier}_fetched", "an epoch's fetched rows", asked),)
        case _:
            return ()


DUE_AT = "floodmark__due_at"
"""BIGINT, microseconds since 1970: the time from which on a row is, or is not, there."""


def due_name(identifier: str) -> str:
    """Return the name of the table with the changes that an operator makes when it is time."""
    return f"{identifier}_due"


COUNTED = "__counted"
"""The value that is counted, in the table of an aggregate with DISTINCT."""


def values_name(identifier: str, i: int) -> str:
    """Return the name of the table with the values of an aggregate's distinct argument."""
    return f"{identifier}_values{i}"


def _values(node: n.Aggregate, identifier: str) -> tuple[StateTable, ...]:
    """Return how often each value of the arguments with DISTINCT is there, as tables."""
    return tuple(
        StateTable(values_name(identifier, i), "distinct values", (*node.group, COUNTED))
        for i in range(len(strategy.distinct_arguments(node)))
    )


def first_name(identifier: str) -> str:
    """Return the name of the table that holds the first rows of each group."""
    return f"{identifier}_first"


def arrangement_name(node: n.Node, i: int, identifier: str) -> str:
    """Return the name of the table that holds the rows of a node's input."""
    side = ("left", "right")[i] if len(node.inputs) == 2 else "input"
    return f"{identifier}_{side}"


def _arrangements(
    node: n.Node,
    identifier: str,
    keys: Sequence[tuple[str, ...]],
    cleaned: Sequence[str | None],
) -> tuple[StateTable, ...]:
    """Return the rows of inputs that cannot be read again as tables, with their scope columns."""
    return tuple(
        StateTable(arrangement_name(node, i, identifier), "input arrangement", key, by)
        for i, (child, key, by) in enumerate(zip(node.inputs, keys, cleaned, strict=True))
        if not rereadable(child)
    )


def _arrangement(
    node: n.Aggregate | n.CloseAggregate,
    identifier: str,
    modes: tuple[ChangelogMode, ...],
    cleaned: Sequence[str | None],
) -> tuple[StateTable, ...]:
    """Return the input's rows as a table where touched groups are recomputed from nothing else."""
    computed = strategy.derive(node, modes).computed
    if computed is not strategy.Computed.SCOPE or rereadable(node.input):
        return ()
    return (StateTable(f"{identifier}_input", "input arrangement", node.group, *cleaned),)


def rereadable(node: n.Node) -> bool:
    """Tell whether a subplan can be read again: from objects and from the groups of aggregates."""
    match node:
        case n.Scan() | n.Values() | n.Aggregate():
            return True
        case n.Project():
            exprs = (expr for _, expr in node.columns)
            return rereadable(node.input) and all(is_deterministic(e) for e in exprs)
        case n.Filter():
            return rereadable(node.input) and is_deterministic(node.predicate)
        case n.Tumble() | n.Hop():
            return rereadable(node.input)
        case n.ProjectSet():
            return rereadable(node.input) and is_deterministic(node.call)
        case n.UnionAll():
            return all(rereadable(b) for b in node.branches)
        case n.Join():
            exact = node.residual is None or is_deterministic(node.residual)
            return exact and rereadable(node.left) and rereadable(node.right)
        case _:
            return False


def persisted(node: n.Node) -> bool:
    """Tell whether a subplan can be read again from objects alone.

    The groups of an aggregate are brought up to date by those who ask for its changes.
    """
    kept = any(isinstance(below, n.Aggregate) for below in n.walk(node))
    return rereadable(node) and not kept


def held_name(identifier: str) -> str:
    """Return the name of the table with the rows that a sort buffer holds."""
    return f"{identifier}_sort"


def closes_from_input(node: n.CloseAggregate | n.SortBuffer, mode: ChangelogMode) -> bool:
    """Tell whether an operator that emits on close needs no state.

    It reads what the watermark has passed from its input: one that only grows and can be read
    again, range by range, and of which no row is refused or goes unheard. `mode` is the input's.
    """
    below = (expr for part in n.walk(node.input) for expr in part.expressions)
    if any(can_fail(expr) for expr in (*node.expressions, *below)):
        return False
    appends = mode is ChangelogMode.APPEND_ONLY
    read = n.scans(node.input)
    stays = not any(scan.forgets for scan in read)
    return appends and stays and rereadable(node.input) and len(read) == 1
