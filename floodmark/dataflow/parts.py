"""Parts of a query that are written and read back, so that no query has too many nodes.

A plan is a tree: what an operator reads is in its query as often as the operator reads it, with
all that is below. So a part is written where it is larger than the operators above it leave room
for. What is written is of one attempt, lies below its folder and goes with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.dataflow.operators.context import Stages
from floodmark.plan import nodes as n
from floodmark.scalar.types import INT, Field
from floodmark.spark.plan_size import PlanSizes
from floodmark.spark.rows import Rows, set_weight

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_OF_EACH = 4
"""So many parts does an operator read of an input at most: its changes twice, for the keys and the
places that they touch, and its rows of before and of after."""
_OWN = 1
"""The operator's own expressions have as much room as one part."""


class Parts:
    """What is too large of one plan in one epoch, and is written."""

    def __init__(self, nodes: Iterable[n.Node], stages: Stages) -> None:
        self._sizes = PlanSizes()
        self._stages = stages
        self._most = stages.plan_nodes
        self._room: Counter[n.Node] = Counter()
        self._written = 0
        for node in nodes:
            for child in node.inputs:
                self._room[child] = max(self._room[child], reads(node) + _OWN)

    def are_large(self, node: n.Node, rows: Rows) -> bool:
        """Tell whether the changes of a node are to be written before an operator reads them.

        Those of the root are written anyhow; what travels along to the object's table stays.
        """
        if not self._room[node] or rows.carried or rows.replacing:
            return False
        return self._sizes.size_of(rows.frame) > self._most_of(node)

    def at_rest(self, node: n.Node, name: str, rows: DataFrame | None) -> DataFrame | None:
        """Return rows at rest that were put together again, written where they are large.

        `name` is the node's; None is an empty relation.
        """
        if rows is None or self._sizes.size_of(rows) <= self._most_of(node):
            return rows
        self._written += 1
        columns = (*node.schema, Field(WEIGHT, INT, nullable=False))
        name = f"{name}_rows{self._written}"
        written = self._stages.settle(name, Rows(set_weight(rows)), columns)
        return None if written is None else written.drop(WEIGHT)

    def _most_of(self, node: n.Node) -> int:
        """Return how many nodes the rows of a node may have in the query of who reads them."""
        return self._most // max(self._room[node], 1)


def reads(node: n.Node) -> int:
    """Return how many parts an operator reads at most in one epoch."""
    match node:
        case n.UnionAll():
            return len(node.branches)
        case n.Project() | n.Filter() | n.Tumble() | n.Hop() | n.ProjectSet():
            return 1
        case n.Aggregate() | n.CloseAggregate():
            return 2
        case _:
            return _OF_EACH * len(node.inputs)
