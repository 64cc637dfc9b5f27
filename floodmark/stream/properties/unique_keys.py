"""Unique keys: sets of columns in which no two rows of a node's output agree.

They are alternatives; each is minimal as far as functional dependencies show. The stream key is
one of the sets that are unique, the one by which the engine finds rows again.
"""

from __future__ import annotations

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.stream.properties import stream_key
from floodmark.stream.properties.functional_dependencies import Dependencies
from floodmark.stream.properties.key_sets import Keys, KeySet, minimal, through, with_equals


def derive(node: n.Node, inputs: tuple[Keys, ...], dependencies: Dependencies) -> Keys:
    """Return the unique keys of a node's output.

    `inputs` are the keys of its inputs, `dependencies` those of its own output.
    """
    return minimal(dependencies.reduce(key) for key in candidates(node, inputs))


def candidates(node: n.Node, inputs: tuple[Keys, ...]) -> list[KeySet]:
    """Return sets of columns in which no two rows agree, minimal or not."""
    match node:
        case n.Scan():
            return [frozenset(node.stream_key)]
        case n.Values():
            one = len(node.rows) < 2
            return [frozenset(c for c in node.names if is_hidden(c) and not one)]
        case n.Project() | n.MaterializeProject():
            return through(node.columns, inputs[0])
        case n.UnionAll():
            return _union(node, inputs)
        case n.Join() | n.LookupJoin():
            return join_keys(node, *inputs)
        case n.Aggregate() | n.CloseAggregate():
            group = frozenset(node.group)
            return [group, *(key for key in inputs[0] if key <= group)]
        case n.Hop():
            bounds = (node.start, node.end) if node.end_settles_start else (node.start,)
            return [key | {bound} for key in inputs[0] for bound in bounds]
        case n.TopN():
            one = node.limit == 1 and not node.with_ties
            numbered = node.number is not None and not node.with_ties
            return [
                *inputs[0],
                *([frozenset(node.group)] if one else []),
                *([frozenset((*node.group, str(node.number)))] if numbered else []),
            ]
        case n.OverWindow():
            numbers = [c for c, call in node.calls if call.function == "row_number"]
            return [*inputs[0], *(frozenset((*node.partition, c)) for c in numbers)]
        case n.SetOperation():
            return [frozenset(node.names), *(k for k in inputs[0] if k <= set(node.names))]
        case n.ProjectSet():
            return [key | {node.ordinal} for key in inputs[0]]
        case _:
            return list(inputs[0])


def _union(node: n.UnionAll, inputs: tuple[Keys, ...]) -> list[KeySet]:
    """A branch and a key of that branch: the columns meet by name."""
    if not all(inputs):
        return []
    shared = set(inputs[0]).intersection(*inputs[1:])
    keys = [*shared, frozenset().union(*(keys[0] for keys in inputs))]
    return [key | {node.ordinal} for key in keys]


def join_keys(node: n.Join | n.LookupJoin, left: Keys, right: Keys) -> list[KeySet]:
    """Return the unique keys of a join.

    One side's key is enough where the other side matches at most once and the side is never
    padded. Columns of an equality stand for each other, except on a padded side. The key of what
    is looked up is one at one time only, unless it is static: the row may change before another
    finds it.
    """
    if node.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return list(left)
    lefts, rights = {a for a, _ in node.equi}, {b for _, b in node.equi}
    keys = _pairs(node, left, right)
    if not node.kind.pads_left and any(key <= rights for key in right):
        keys += left
    once = not node.kind.pads_right and any(key <= lefts for key in left)
    if once and (isinstance(node, n.Join) or node.static):
        keys += right
    padded = node.kind.pads_left or node.kind.pads_right
    return keys if padded else with_equals(keys, node.equi)


def _pairs(node: n.Join | n.LookupJoin, left: Keys, right: Keys) -> list[KeySet]:
    """Return both keys; of a full join only where two padded rows cannot both have NULL in all."""
    keys = [a | b for a in left for b in right]
    if node.kind is not n.JoinKind.FULL:
        return keys
    told = stream_key.left_row(node)
    with_side = [key if told is None else key | {told} for key in keys]
    return [k for k in (*keys, *with_side) if told in k or stream_key.tells_padding(node, k)]
