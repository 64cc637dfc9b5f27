"""Nodes over other inputs."""

from __future__ import annotations

from floodmark.plan import nodes as n


def with_inputs(node: n.Node, inputs: tuple[n.Node, ...]) -> n.Node:
    """Return the node over these inputs; itself where they are the ones that it has."""
    return node if inputs == node.inputs else node.with_inputs(inputs)
