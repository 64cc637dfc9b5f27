"""Descriptions of operators in EXPLAIN, and their place in the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.state import OwnTableState, StateTable


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a node; each detail is a line of cells, aligned with other details."""

    operator: str
    arguments: str
    details: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class NodePlace:
    """The context of a description: the plan, the names to show, the owner of the state.

    `kinds` maps objects to the word of their kind. `owner` is None for a query that runs once: it
    keeps no state and computes no changes.
    """

    labels: Labels
    kinds: Mapping[str, str]
    owner: str | None
    stores: bool = True
    """Whether the owner has a table; a sink's rows are in its target."""

    def state_text(self, table: StateTable, own: OwnTableState | None = None) -> str:
        """Return the name of a state table as people find it."""
        if own is not None and own.holds(table):
            return "state own table"
        return f"state {self.owner}.{table.name}"
