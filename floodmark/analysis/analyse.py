"""Derives all properties of a plan, bottom-up and in fixed order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from floodmark.analysis import changelog_mode, state, stream_key, watermark
from floodmark.analysis.state import StateTable
from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n


@dataclass(frozen=True, slots=True)
class Properties:
    """What is known of one node's output."""

    identifier: str
    stream_key: tuple[str, ...]
    mode: ChangelogMode
    watermarks: tuple[n.WatermarkColumn, ...]
    state: tuple[StateTable, ...]


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

    The nodes must keep their key columns (`floodmark.plan.rules.keep_keys` sees to it).
    """
    found: dict[n.Node, Properties] = {}
    for node in n.walk(root):
        if node in found:
            continue
        inputs = tuple(found[child] for child in node.inputs)
        name = f"r{len(found)}"
        found[node] = Properties(
            identifier=name,
            stream_key=stream_key.derive(node, tuple(i.stream_key for i in inputs)),
            mode=changelog_mode.derive(node, tuple(i.mode for i in inputs)),
            watermarks=watermark.derive(node, tuple(i.watermarks for i in inputs)),
            state=state.derive(node, name, tuple(i.mode for i in inputs)),
        )
    return AnalysedPlan(root=root, properties=found)
