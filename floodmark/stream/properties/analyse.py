"""Derives all properties of a plan, bottom-up."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from floodmark.plan import nodes as n
from floodmark.stream.properties.properties import Properties, derive

__all__ = ["AnalysedPlan", "Properties", "analyse"]


@dataclass(frozen=True)
class AnalysedPlan:
    """A plan and the properties of its nodes; equal subplans are one node (`r0`, `r1`, …)."""

    root: n.Node
    properties: Mapping[n.Node, Properties]

    @property
    def nodes(self) -> tuple[n.Node, ...]:
        """Return the distinct nodes, inputs first."""
        return tuple(self.properties)

    def __getitem__(self, node: n.Node) -> Properties:
        return self.properties[node]

    @property
    def fingerprint(self) -> str:
        """Return a digest that changes when the meaning of the plan does."""
        return hashlib.sha256(repr(self.root).encode()).hexdigest()[:16]


def analyse(root: n.Node) -> AnalysedPlan:
    """Return the plan with the properties of every node.

    The nodes must keep their key columns (`floodmark.stream.passes.keep_keys` sees to it).
    """
    found: dict[n.Node, Properties] = {}
    for node in n.walk(root):
        if node not in found:
            inputs = tuple(found[child] for child in node.inputs)
            found[node] = derive(node, f"r{len(found)}", inputs)
    return AnalysedPlan(root=root, properties=found)
