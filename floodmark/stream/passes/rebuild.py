"""Nodes over other inputs."""

from __future__ import annotations

from dataclasses import replace

from floodmark.plan import nodes as n


def with_inputs(node: n.Node, inputs: tuple[n.Node, ...]) -> n.Node:
    """Return the node over these inputs; itself where they are the ones that it has."""
    if inputs == node.inputs:
        return node
    match node:
        case n.UnionAll():
            return replace(node, branches=inputs)
        case n.Join() | n.LookupJoin() | n.SetOperation():
            return replace(node, left=inputs[0], right=inputs[1])
        case _:
            return replace(node, input=inputs[0])  # type: ignore[call-arg]
