"""Changelog mode of every edge: append-only, retract or upsert.

An upsert changelog has no old rows. Tables and keyed sources never give one: they know the stored
row. Operators that look at one row pass it on; those that keep state refuse it.
"""

from __future__ import annotations

from floodmark.changelog import ChangelogMode
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import reads_now

_RETRACT = ChangelogMode.RETRACT
_APPEND = ChangelogMode.APPEND_ONLY
_WITHOUT_OLD_ROWS = (
    n.Project, n.Filter, n.UnionAll, n.Tumble, n.MaterializeProject, n.LookupJoin,
)  # fmt: skip


def derive(node: n.Node, inputs: tuple[ChangelogMode, ...]) -> ChangelogMode:
    """Return the mode of a node's output from the modes of its inputs.

    Raises E0323 for an operator that needs the old rows of an upsert changelog.
    """
    if ChangelogMode.UPSERT in inputs and not isinstance(node, _WITHOUT_OLD_ROWS):
        raise NotSupported(
            "E0323",
            f"an upsert changelog, which has no old rows, is not supported as input of "
            f"{type(node).__name__}",
            span=node.span,
            hint="read it through a table with its key, which knows the old rows",
        )
    match node:
        case n.Scan():
            return node.mode
        case n.Values() | n.CloseAggregate() | n.CloseSession() | n.SortBuffer():
            return _APPEND
        case n.Join():
            return _join(node, inputs)
        case n.LookupJoin():
            return inputs[0]
        case n.Aggregate() | n.TopN() | n.OverWindow() | n.Session() | n.SetOperation():
            return _RETRACT
        case n.Filter() if reads_now(node.predicate):
            # A row that passed at one epoch's time need not pass at the next one's.
            return _RETRACT
        case n.TemporalFilter():
            return _RETRACT if node.uppers else inputs[0]
        case _:
            return ChangelogMode.worst(*inputs)


def _join(node: n.Join, inputs: tuple[ChangelogMode, ...]) -> ChangelogMode:
    appending = all(mode is _APPEND for mode in inputs)
    return _APPEND if node.kind is n.JoinKind.INNER and appending else _RETRACT
