"""The inputs of one join: read again where they are persisted, else from an arrangement."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.operators.context import Arrangement, EpochContext
from floodmark.dataflow.operators.state_cleaning import arrangement_of
from floodmark.plan import nodes as n
from floodmark.plan.rules.interval_join import all_distances
from floodmark.stream.properties.bounds import Bounds, hull
from floodmark.stream.properties.state import rereadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def roles(node: n.Join) -> tuple[n.Node, n.Node]:
    """Return the side whose rows are kept, padded or not, and the other one."""
    right = node.kind is n.JoinKind.RIGHT
    return (node.right, node.left) if right else (node.left, node.right)


class JoinSides:
    """What a join asks of its inputs in one epoch; None is an empty relation."""

    def __init__(self, node: n.Join, ctx: EpochContext) -> None:
        self.node = node
        self.ctx = ctx
        self._new: dict[int, DataFrame | None] = {}

    def delta(self, node: n.Node, *, once: bool) -> DataFrame | None:
        """Return the changes of an input without failing rows, to be read once or twice."""
        if once and rereadable(node):
            return self.ctx.single_use_delta(node)
        return self.ctx.materialized_delta(node)

    def old(self, node: n.Node) -> DataFrame | None:
        """Return the input's rows before the epoch."""
        if rereadable(node):
            return self.ctx.before(node, self._matching(node))
        return self._arrangement(node).before(self._matching(node))

    def new(self, node: n.Node) -> DataFrame | None:
        """Return the input's rows after the epoch."""
        if rereadable(node) and self.ctx.inputs.fills:
            return self.ctx.initial_rows(node)
        if rereadable(node):
            return self.ctx.after(node, self._matching(node))
        i = self._place(node)
        if i not in self._new:
            changes, within = self.ctx.materialized_delta(node), self._matching(node)
            self._new[i] = self._arrangement(node).after(changes, within)
        return self._new[i]

    def keep(self) -> None:
        """Record both arrangements, also where the join did not need their new rows."""
        for side in (self.node.left, self.node.right):
            if not rereadable(side):
                self.new(side)

    def _matching(self, node: n.Node) -> Bounds:
        """Return where the keys lie for which an input is read again: those that change.

        An inner join reads a side for the other one's changes; padded rows depend on both.
        """
        kept, other = roles(self.node)
        pairs = [(b, a) if other is self.node.left else (a, b) for a, b in self.node.equi]
        mine, theirs = self.ctx.bounds(kept), self.ctx.bounds(other)
        of_kept = {b: mine[a] for a, b in pairs if a in mine}
        of_other = {b: theirs[b] for _, b in pairs if b in theirs}
        if self.node.kind is n.JoinKind.INNER:
            equal = {a: of_other[b] for a, b in pairs if b in of_other}
            return {**self._near(node), **(equal if node is kept else of_kept)}
        if node is kept:
            return {a: of_other[b] for a, b in pairs if b in of_other}
        sides = ((kept, of_kept), (other, of_other))
        return hull([b for side, b in sides if self.ctx.delta(side) is not None])

    def _near(self, node: n.Node) -> Bounds:
        """Return where times lie that are at a distance from those that change beside them."""
        other = self.node.right if node is self.node.left else self.node.left
        lie = self.ctx.bounds(other)
        lows: dict[str, Any] = {}
        highs: dict[str, Any] = {}
        with suppress(OverflowError):
            for far in all_distances(self.node):
                if far.is_in_time and far.other in lie:
                    lows[far.column] = far.least(lie[far.other][0])
                if far.is_in_time and far.column in lie:
                    highs[far.other] = far.greatest(lie[far.column][1])
        own = (c for c in lows if c in highs and c in node.names)
        return {c: (lows[c], highs[c]) for c in own}

    def _place(self, node: n.Node) -> int:
        return 0 if node is self.node.left else 1

    def _arrangement(self, node: n.Node) -> Arrangement:
        return arrangement_of(self.node, self._place(node), self.ctx)
