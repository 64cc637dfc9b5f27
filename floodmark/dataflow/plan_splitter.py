"""Splitting of large queries: parts are written and read back, so that no query is too large.

A Spark query repeats an input, with everything below it, as often as an operator reads it. So a
part is written to files if it is larger than the operators above it leave room for. The files
belong to one attempt of an epoch and are deleted with its folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.dataflow.stages import ObjectStages
from floodmark.scalar.types import INT, Field
from floodmark.spark.plan_size import PlanSizes
from floodmark.spark.rows import Rows, set_weight
from floodmark.stream.operators import Operator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_OWN = 1
"""The operator's own expressions have as much room as one part."""


class PlanSplitter:
    """What is too large of one plan in one epoch, and is written."""

    def __init__(self, stages: ObjectStages) -> None:
        self._sizes = PlanSizes()
        self._stages = stages
        self._written = 0

    def are_large(self, rows: Rows, readers: Iterable[Operator]) -> bool:
        """Tell whether changes are to be written before the operators above read them.

        Those of the root are written anyhow; what travels along to the object's table stays.
        """
        room = _room(readers)
        if not room or rows.extra_columns or rows.replacing:
            return False
        return self._sizes.size_of(rows.frame) > self._most_of(room)

    def write_large(
        self, op: Operator, rows: DataFrame | None, readers: Iterable[Operator]
    ) -> DataFrame | None:
        """Return rows at rest that were put together again, written where they are large.

        None is an empty relation.
        """
        if rows is None or self._sizes.size_of(rows) <= self._most_of(_room(readers)):
            return rows
        self._written += 1
        columns = (*op.node.schema, Field(WEIGHT, INT, nullable=False))
        name = f"{op.identifier}_rows{self._written}"
        written = self._stages.settle(name, Rows(set_weight(rows)), columns)
        return None if written is None else written.drop(WEIGHT)

    def _most_of(self, room: int) -> int:
        """Return how many nodes rows may have in the query of who reads them."""
        return self._stages.plan_nodes // max(room, 1)


def _room(readers: Iterable[Operator]) -> int:
    """Return in how many parts the operator that reads the most has to fit."""
    return max((op.uses * len(op.inputs) + _OWN for op in readers), default=0)
