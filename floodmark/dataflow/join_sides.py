"""The inputs of one join: read again where they are persisted, else from an arrangement."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.operators import join
from floodmark.dataflow.operators.unneeded import unneeded
from floodmark.plan import nodes as n
from floodmark.plan.rules.interval_join import all_distances
from floodmark.stream.properties.state import rereadable
from floodmark.tables import bounds
from floodmark.tables.bounds import Bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.dataflow.evaluation import Evaluation
    from floodmark.dataflow.operators.context import Arrangement
    from floodmark.spark.rows import Rows


class JoinSides:
    """What a join asks of its inputs: see `operators.join.Sides`."""

    def __init__(self, evaluation: Evaluation, node: n.Join) -> None:
        self.evaluation = evaluation
        self.node = node
        self._new: dict[str, DataFrame | None] = {}

    @property
    def few(self) -> bool:
        return self.evaluation.inputs.few

    @property
    def fills(self) -> bool:
        return self.evaluation.inputs.fills

    def changes(self, node: n.Node) -> Rows | None:
        return self.evaluation.delta(node)

    def delta(self, node: n.Node, *, once: bool) -> DataFrame | None:
        if once and rereadable(node):
            return self.evaluation.once(node)
        return self.evaluation.settled(node)

    def old(self, node: n.Node) -> DataFrame | None:
        if rereadable(node):
            return self.evaluation.before(node, self._matching(node))
        return self._arrangement(node).before(self._matching(node))

    def new(self, node: n.Node) -> DataFrame | None:
        if rereadable(node) and self.fills:
            return self.evaluation.begun(node)
        if rereadable(node):
            return self.evaluation.after(node, self._matching(node))
        side = self._side(node)
        if side not in self._new:
            changes, within = self.evaluation.settled(node), self._matching(node)
            self._new[side] = self._arrangement(node).after(changes, within)
        return self._new[side]

    def _matching(self, node: n.Node) -> Bounds:
        """Return where the keys lie for which an input is read again: those that change.

        An inner join reads a side for the other one's changes; padded rows depend on both.
        """
        kept, other = join.roles(self.node)
        pairs = [(b, a) if other is self.node.left else (a, b) for a, b in self.node.equi]
        mine, theirs = self.evaluation.bounds(kept), self.evaluation.bounds(other)
        of_kept = {b: mine[a] for a, b in pairs if a in mine}
        of_other = {b: theirs[b] for _, b in pairs if b in theirs}
        if self.node.kind is n.JoinKind.INNER:
            equal = {a: of_other[b] for a, b in pairs if b in of_other}
            return {**self._near(node), **(equal if node is kept else of_kept)}
        if node is kept:
            return {a: of_other[b] for a, b in pairs if b in of_other}
        sides = ((kept, of_kept), (other, of_other))
        return bounds.hull([b for side, b in sides if self.evaluation.delta(side) is not None])

    def _near(self, node: n.Node) -> Bounds:
        """Return where times lie that are at a distance from those that change beside them."""
        other = self.node.right if node is self.node.left else self.node.left
        lie = self.evaluation.bounds(other)
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

    def keep(self) -> None:
        """Record both arrangements, also where the join did not need their new rows."""
        for side in (self.node.left, self.node.right):
            if not rereadable(side):
                self.new(side)

    def _side(self, node: n.Node) -> str:
        return "left" if node is self.node.left else "right"

    def _arrangement(self, node: n.Node) -> Arrangement:
        name = f"{self.evaluation.name(self.node)}_{self._side(node)}"
        i = 0 if node is self.node.left else 1
        gone = unneeded(self.node, i, self.evaluation)
        return self.evaluation.stages.arrangement(name, node.schema, gone)
