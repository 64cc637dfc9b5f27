"""Changelog mode of every edge: append-only, retract or upsert."""

from __future__ import annotations

from floodmark.analysis.determinism import is_deterministic
from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n

_RETRACT = ChangelogMode.RETRACT
_APPEND = ChangelogMode.APPEND_ONLY


def derive(node: n.Node, inputs: tuple[ChangelogMode, ...]) -> ChangelogMode:
    """Return the mode of a node's output from the modes of its inputs."""
    match node:
        case n.Scan():
            return node.mode
        case n.Values() | n.CloseAggregate() | n.SortBuffer():
            return _APPEND
        case n.Join():
            return _join(node, inputs)
        case n.LookupJoin():
            return inputs[0]
        case n.Aggregate() | n.TopN() | n.OverWindow() | n.Session() | n.SetOperation():
            return _RETRACT
        case n.Filter() if not is_deterministic(node.predicate):
            # A row that passed at one epoch's time need not pass at the next one's.
            return _RETRACT
        case n.TemporalFilter():
            return inputs[0] if node.upper is None else _RETRACT
        case _:
            return ChangelogMode.worst(*inputs)


def _join(node: n.Join, inputs: tuple[ChangelogMode, ...]) -> ChangelogMode:
    appending = all(mode is _APPEND for mode in inputs)
    return _APPEND if node.kind is n.JoinKind.INNER and appending else _RETRACT
