"""State of operators while a view is recomputed: it is empty before, and discarded afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from floodmark.dataflow.stages import ObjectStages
from floodmark.dataflow.state.arrangement import Arrangement
from floodmark.dataflow.state.groups import AggregateState, GroupKeys
from floodmark.dataflow.state.leaving_rows import ExpiredRows
from floodmark.scalar.types import Schema
from floodmark.storage.table import Handle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FreshStages(ObjectStages):
    """Stages without state tables; what is put aside or needed twice is written as elsewhere."""

    lasting: ClassVar[bool] = False

    def handle_before(self, table: str) -> Handle | None:
        """Return None: there is no state of the epoch before."""
        return None

    def aggregate_state(self, name: str, schema: Schema) -> AggregateState:
        """Return the groups of an aggregate, which nothing keeps."""
        return _FreshGroups(self, name, schema)

    def arrangement(self, name: str, columns: Schema, gone: ExpiredRows | None) -> Arrangement:
        """Return the input rows of an operator, which nothing keeps."""
        return _FreshRows(self, name, columns)


@dataclass
class _FreshGroups(AggregateState):
    def find_groups(self, keys: GroupKeys) -> None:
        return None

    def keep(self, transitions: DataFrame, schema: Schema) -> DataFrame:
        return transitions


@dataclass
class _FreshRows(Arrangement):
    def _record(self, changes: DataFrame | None) -> None:
        pass
