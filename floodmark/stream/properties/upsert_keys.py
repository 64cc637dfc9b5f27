"""Upsert keys: unique keys that also hold the columns by which the operator spreads its rows.

These are Flink's rules, for its verdict on non-deterministic updates: only keys that were declared
or follow from grouping count, never the engine's own row ids.
"""

from __future__ import annotations

from floodmark.changelog import ROW_ID
from floodmark.plan import nodes as n
from floodmark.stream.properties.key_sets import Keys, KeySet, closed, through, with_equals
from floodmark.stream.properties.ranking import Ranking, ranking_of

_MOST = 128
_SPLITTABLE = ("count", "sum", "min", "max")


def derive(node: n.Node, inputs: tuple[Keys, ...]) -> Keys:
    """Return the upsert keys of a node's output from those of its inputs."""
    return closed(_keys(node, inputs), _MOST)


def _keys(node: n.Node, inputs: tuple[Keys, ...]) -> list[KeySet]:
    match node:
        case n.Scan():
            return [] if ROW_ID in node.stream_key else [frozenset(node.stream_key)]
        case n.Project() | n.MaterializeProject():
            # The empty key of a single row is not carried on.
            return [key for key in through(node.columns, inputs[0]) if key]
        case n.Filter() if (ranking := ranking_of(node)) is not None:
            return _ranked(ranking, inputs[0])
        case n.Filter() | n.TemporalFilter() | n.SortBuffer():
            return list(inputs[0])
        case n.Join() | n.LookupJoin():
            return _join(node, *inputs)
        case n.Aggregate():
            return _aggregate(node, inputs[0])
        case n.TopN() if not node.group:
            ordered = frozenset(k.column for k in node.order)
            return [key for key in inputs[0] if key >= ordered]
        case n.TopN():
            group = frozenset(node.group)
            one = node.limit == 1 and not node.offset and not node.with_ties
            if one:
                return [group]
            numbered = [] if node.number is None else [group | {node.number}]
            return [*(key for key in inputs[0] if key >= group), *numbered]
        case n.OverWindow():
            return [key for key in inputs[0] if key >= set(node.partition)]
        case n.SetOperation() if not node.all:
            return _set_operation(frozenset(node.names), inputs[0])
        case _:
            return []


def _set_operation(names: KeySet, left: Keys) -> list[KeySet]:
    """All columns, by which Flink groups the rows; where they are unique already it joins alone."""
    if any(key <= names for key in left):
        return [key for key in left if key >= names]
    return [names]


def removable(node: n.Aggregate, keys: Keys) -> bool:
    """Tell whether Flink replaces the aggregate by a projection: its groups are single rows."""
    plain = all(
        call.function in _SPLITTABLE and call.filter is None and not call.distinct
        for _, call in node.aggregates
    )
    return plain and bool(node.group) and any(key <= set(node.group) for key in keys)


def _aggregate(node: n.Aggregate, keys: Keys) -> list[KeySet]:
    group = frozenset(node.group)
    return [key for key in keys if key <= group] if removable(node, keys) else [group]


def _ranked(ranking: Ranking, keys: Keys) -> list[KeySet]:
    partition = frozenset(ranking.partition)
    if ranking.first:
        return [partition]
    return [*(key for key in keys if key >= partition), partition | {ranking.column}]


def _join(node: n.Join | n.LookupJoin, left: Keys, right: Keys) -> list[KeySet]:
    lefts = frozenset(a for a, _ in node.equi)
    rights = frozenset(b for _, b in node.equi)
    unique_right = any(key <= rights for key in right)
    unique_left = any(key <= lefts for key in left)
    if isinstance(node, n.LookupJoin):
        unique_left, unique_right = False, unique_right and node.residual is None
    else:
        left = tuple(key for key in left if key >= lefts)
        right = tuple(key for key in right if key >= rights)
    if node.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return list(left)
    keys = [a | b for a in left for b in right]
    if unique_right and not node.kind.pads_left:
        keys += left
    if unique_left and not node.kind.pads_right:
        keys += right
    return _substituted(node, keys)


def _substituted(node: n.Join | n.LookupJoin, keys: list[KeySet]) -> list[KeySet]:
    """Close the keys under the join's equalities, never onto a column that can be padded."""
    if node.kind is n.JoinKind.INNER:
        return with_equals(keys, node.equi)
    preserved = {
        n.JoinKind.LEFT: set(node.left.names),
        n.JoinKind.RIGHT: set(node.right.names),
    }.get(node.kind, set())
    both = with_equals(keys, node.equi)
    return [key for key in both if key in keys or _moved(key, keys) <= preserved]


def _moved(key: KeySet, keys: list[KeySet]) -> KeySet:
    """Return the columns that a substitution brought in, seen from the nearest original key."""
    return min((key - known for known in keys), key=len)
