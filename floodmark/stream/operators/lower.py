"""From a logical plan to a streaming plan: each distinct node becomes an operator, inputs first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floodmark.cached import cached_property
from floodmark.plan import nodes as n
from floodmark.plan.rules.read_columns import Columns, read_columns
from floodmark.stream.operators import Operator
from floodmark.stream.operators.walks import class_of


@dataclass(frozen=True)
class StreamPlan:
    """A plan and its operators; equal subplans are one operator (`r0`, `r1`, …)."""

    root: n.Node
    operators: Mapping[n.Node, Operator]

    def __post_init__(self) -> None:
        for node, known in self.operators.items():
            below = (self.operators[child] for child in node.inputs)
            assert all(a is b for a, b in zip(known.inputs, below, strict=True)), known.identifier

    @property
    def nodes(self) -> tuple[n.Node, ...]:
        """Return the distinct nodes, inputs first."""
        return tuple(self.operators)

    def __getitem__(self, node: n.Node) -> Operator:
        return self.operators[node]

    def evolve(self, changes: Mapping[n.Node, Mapping[str, Any]]) -> StreamPlan:
        """Return the plan with other values of operators; those above read the changed ones."""
        changed: dict[n.Node, Operator] = {}
        for node, known in self.operators.items():
            inputs = tuple(changed[child] for child in node.inputs)
            changed[node] = known.evolve(inputs=inputs, **changes.get(node, {}))
        return StreamPlan(self.root, changed)

    @cached_property
    def read_columns(self) -> Mapping[n.Node, Columns]:
        """The columns that are read of each node; of the root all are."""
        return read_columns(self.nodes)

    @property
    def top(self) -> Operator:
        """Return the operator of the root."""
        return self.operators[self.root]

    @property
    def top_without_projections(self) -> Operator | None:
        """Return the operator whose rows are those of the plan under other names, or None.

        There is one if all operators above it are projections that pass all of its columns on. Its
        state can be in the own table of the plan's object (`StreamOperator.beside`).
        """
        node = self._renaming[0]
        return None if isinstance(node, n.Project) else self.operators[node]

    @property
    def names_above_projections(self) -> Mapping[str, str]:
        """Return by column of that operator its name in the plan's rows."""
        return self._renaming[1]

    @property
    def _renaming(self) -> tuple[n.Node, Mapping[str, str]]:
        """Return the first node that does more than rename, and its columns' names above."""
        node, names = self.root, {name: name for name in self.root.names}
        while isinstance(node, n.Project) and node.renames:
            names = {below: names[name] for below, name in node.plain_columns.items()}
            node = node.input
        return node, names

    @property
    def fingerprint(self) -> str:
        """Return a digest that changes when the meaning of the plan does."""
        return hashlib.sha256(repr(self.root).encode()).hexdigest()[:16]


def lower(root: n.Node) -> StreamPlan:
    """Return the streaming plan of a logical one.

    The nodes must keep their key columns (`floodmark.stream.passes.keep_keys` sees to it).
    """
    lowered: dict[n.Node, Operator] = {}
    for node in n.walk(root):
        if node not in lowered:
            inputs = tuple(lowered[child] for child in node.inputs)
            lowered[node] = class_of(node)(node, f"r{len(lowered)}", inputs)
    return StreamPlan(root=root, operators=lowered)
