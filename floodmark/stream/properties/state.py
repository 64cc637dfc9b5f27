"""State that an operator keeps beyond what persisted objects hold already.

An input needs no state of its own if it is a persisted object or the groups of an aggregate, seen
through deterministic row-local operators and joins. Every other input that must be read again gets
a table of its consolidated rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from floodmark.plan import nodes as n
from floodmark.plan.expr.printing import show_name


@dataclass(frozen=True, slots=True)
class StateTable:
    """One table under `_state/<object>/<name>`: its role, its key, what cleans it.

    `place` is that of the input whose rows it holds; None where it holds something else.
    """

    name: str
    role: str
    key: tuple[str, ...]
    cleaned_by: str | None
    place: int | None = None

    @property
    def cleaning(self) -> str:
        """Return in words what removes its rows."""
        if self.cleaned_by is not None:
            return f"watermark of {show_name(self.cleaned_by)}"
        return CLEANING[self.role]

    @property
    def holds_due_changes(self) -> bool:
        """Tell whether it holds changes that are made when their time comes, not for new rows."""
        return self.role == _TIMERS


class OwnTableState(Enum):
    """What the own table of an object can hold of an operator's state."""

    GROUPS = "accumulators beside each row"
    ROWS = "its rows of before"
    VALUES = "values that are evaluated or looked up once"

    def holds(self, table: StateTable) -> bool:
        """Tell whether that state needs no table of its own then."""
        return table.role == _OWN_ROLES.get(self)


_OWN_ROLES = {OwnTableState.GROUPS: "accumulators", OwnTableState.ROWS: "first rows"}
"""Role of the state that is there; an operator whose values are there has no other."""
_TIMERS = "changes to come"
CLEANING = {
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
    _TIMERS: "their time",
}
"""By role, what removes the rows of a table that no watermark column cleans."""


DUE_AT = "floodmark__due_at"
"""BIGINT, microseconds since 1970: the time from which on a row is, or is not, there."""


def due_table(identifier: str) -> StateTable:
    """Return the table with the changes that an operator makes when it is time."""
    return StateTable(f"{identifier}_due", _TIMERS, (DUE_AT,), None)


VALUE_COUNT = "__counted"
"""The value that is counted, in the table of an aggregate with DISTINCT."""


def values_name(identifier: str, i: int) -> str:
    """Return the name of the table with the values of an aggregate's distinct argument."""
    return f"{identifier}_values{i}"


def arrangement_name(node: n.Node, i: int, identifier: str) -> str:
    """Return the name of the table that holds the rows of a node's input."""
    side = ("left", "right")[i] if len(node.inputs) == 2 else "input"
    return f"{identifier}_{side}"


def buffer_name(identifier: str) -> str:
    """Return the name of the table with the rows that a sort buffer holds."""
    return f"{identifier}_sort"
