"""Which columns of each node's rows are read above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.expressions import columns_of

Columns = frozenset[str]


def read_columns(nodes: Sequence[n.Node]) -> Mapping[n.Node, Columns]:
    """Return the columns that are read of each node of a plan; of the root all are.

    `nodes` are those of the plan, inputs first. Where an expression can fail, all columns are read:
    the dead letter shows them.
    """
    found: dict[n.Node, Columns] = {nodes[-1]: frozenset(nodes[-1].names)}
    for node in reversed(nodes):
        below = _input_columns(node, found[node])
        for child in node.inputs:
            names = frozenset(child.names)
            read = names if below is None else below & names
            found[child] = found.get(child, frozenset()) | read
    return found


def _input_columns(node: n.Node, above: Columns) -> Columns | None:
    """Return the columns that a node reads of its inputs if these are read of it; None for all."""
    if any(map(can_fail, node.expressions)):
        return None
    match node:
        case n.Project():
            used = (columns_of(e) for c, e in node.columns if c in above)
            return frozenset[str]().union(*used)
        case n.UnionAll():
            return above
        case _:
            return None if node.reads is None else above | node.reads
