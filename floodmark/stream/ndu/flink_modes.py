"""Which edges Flink would call insert-only: requirements end there."""

from __future__ import annotations

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.properties.ranking import ranking_of


def insert_only(node: n.Node) -> bool:
    """Tell whether Flink sees no update in a node's output.

    A comparison with the time is an ordinary filter to it: rows do not leave when time passes.
    """
    match node:
        case n.Scan():
            return node.mode is ChangelogMode.APPEND_ONLY
        case n.Filter() if ranking_of(node) is not None:
            return False
        case n.CloseAggregate() | n.SortBuffer():
            return True
        case n.Aggregate() | n.TopN() | n.OverWindow():
            return False
        case n.LookupJoin():
            return insert_only(node.left)
        case n.Join() if node.kind not in (n.JoinKind.INNER, n.JoinKind.SEMI):
            return False
        case n.SetOperation():
            return False
        case _:
            return all(insert_only(child) for child in node.inputs)
