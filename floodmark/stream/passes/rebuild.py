"""Nodes over other inputs, and plans of other nodes."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.keep_keys import keep_keys


def with_inputs(node: n.Node, inputs: tuple[n.Node, ...]) -> n.Node:
    """Return the node over these inputs; itself where they are the ones that it has."""
    return node if inputs == node.inputs else node.with_inputs(inputs)


def lower_again(plan: StreamPlan, root: n.Node) -> StreamPlan:
    """Return the plan of its nodes rewritten; itself where they are the ones that it has."""
    return plan if root == plan.root else lower(keep_keys(root))
