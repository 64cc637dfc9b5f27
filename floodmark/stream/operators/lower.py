"""From a logical plan to a streaming plan: each distinct node becomes an operator, inputs first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floodmark.plan import nodes as n
from floodmark.stream.operators import OPERATORS
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.derived import Derived

_CLASSES = {operator.NODE: operator for operator in OPERATORS}


@dataclass(frozen=True)
class StreamPlan:
    """A plan and its operators; equal subplans are one operator (`r0`, `r1`, …)."""

    root: n.Node
    operators: Mapping[n.Node, StreamOperator[Any]]

    @property
    def nodes(self) -> tuple[n.Node, ...]:
        """Return the distinct nodes, inputs first."""
        return tuple(self.operators)

    def __getitem__(self, node: n.Node) -> StreamOperator[Any]:
        return self.operators[node]

    @property
    def fingerprint(self) -> str:
        """Return a digest that changes when the meaning of the plan does."""
        return hashlib.sha256(repr(self.root).encode()).hexdigest()[:16]


def lower(root: n.Node) -> StreamPlan:
    """Return the streaming plan of a logical one.

    The nodes must keep their key columns (`floodmark.stream.passes.keep_keys` sees to it).
    """
    lowered: dict[n.Node, StreamOperator[Any]] = {}
    for node in n.walk(root):
        if node not in lowered:
            inputs = tuple(lowered[child] for child in node.inputs)
            of = _CLASSES.get(type(node), Derived)
            lowered[node] = of(node, f"r{len(lowered)}", inputs)
    return StreamPlan(root=root, operators=lowered)
