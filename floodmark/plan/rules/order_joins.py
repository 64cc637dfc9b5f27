"""Orders inner joins so that each joins by equal columns what those before it have.

`FROM part, supplier, partsupp WHERE …` pairs parts with suppliers first, as it is written, though
only `partsupp` says which belong together. Joins that need no cross join as they stand keep their
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import all_of, conjuncts, is_movable
from floodmark.plan.expr.expressions import Expr, columns_of


def order_joins(node: n.Node) -> n.Node:
    """Return the plan with as few pairings of everything with everything as the order can spare."""
    tree = _Tree()
    tree.add(node)
    if len(tree.inputs) > 2 and tree.crosses:
        ordered = tree.order()
        if ordered.crosses < tree.crosses:
            return _join_inputs(tree, ordered.inputs, node)
    return node.with_inputs([order_joins(child) for child in node.inputs])


@dataclass(slots=True)
class _Tree:
    """Inner joins that feed each other: their inputs, equal columns, and other conditions."""

    inputs: list[n.Node] = field(default_factory=list)
    equal: list[tuple[str, str]] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    crosses: int = 0

    def add(self, node: n.Node) -> None:
        """Add what a node is made of, or the node."""
        match node:
            case n.Join(kind=n.JoinKind.INNER):
                self.add(node.left)
                self.add(node.right)
                self.equal += node.equi
                self.crosses += not node.equi
                if node.residual is not None:
                    self.conditions += conjuncts(node.residual)
            case n.Filter(input=n.Join(kind=n.JoinKind.INNER)) if is_movable(node.predicate):
                self.add(node.input)
                self.conditions += conjuncts(node.predicate)
            case _:
                self.inputs.append(node)

    def order(self) -> _Tree:
        """Return the inputs as they should be joined, and how many crosses that leaves."""
        first, *left = self.inputs
        out, have = _Tree([first]), set(first.names)
        while left:
            linked = (node for node in left if self.links(have, node))
            following = next(linked, None)
            out.crosses += following is None
            taken = left[0] if following is None else following
            left.remove(taken)
            out.inputs.append(taken)
            have.update(taken.names)
        return out

    def links(self, have: set[str], node: n.Node) -> list[tuple[str, str]]:
        """Return the pairs of a column among `have` and one of the node that must be equal."""
        names = set(node.names)
        pairs = [pair for a, b in self.equal for pair in ((a, b), (b, a))]
        return [(a, b) for a, b in pairs if a in have and b in names]


def _join_inputs(tree: _Tree, inputs: Sequence[n.Node], top: n.Node) -> n.Node:
    """Return the joins in an order; conditions that can fail stay behind all of them."""
    left = list(tree.conditions)
    node = order_joins(inputs[0])
    for right in inputs[1:]:
        pairs = tuple(tree.links(set(node.names), right))
        have = {*node.names, *right.names}
        last = right is inputs[-1]
        met = [c for c in left if last or (is_movable(c) and columns_of(c) <= have)]
        left = [c for c in left if c not in met]
        inner = n.JoinKind.INNER
        node = n.Join(node, order_joins(right), inner, pairs, all_of(met), span=top.span)
    if node.names == top.names:
        return node
    return n.Project(node, top.identity)
