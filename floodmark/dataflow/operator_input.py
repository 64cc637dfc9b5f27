"""One input of an operator in one epoch: its changes, and the rows that the operator keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from floodmark.cached import cached_property
from floodmark.dataflow import batch
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.key_sets import ALL_KEYS, KeySets, Sources
from floodmark.dataflow.output import OperatorOutput
from floodmark.dataflow.state.arrangement import Arrangement
from floodmark.dataflow.state_cleaning import expired_rows
from floodmark.spark.rows import Rows
from floodmark.stream.operators import Operator
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.state import StateTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class OperatorInput:
    """The input at a `place` of the operator `above`."""

    def __init__(
        self, above: Operator, place: int, output: OperatorOutput, ctx: EpochContext
    ) -> None:
        self._above = above
        self._place = place
        self._output = output
        self._ctx = ctx
        self._is_kept = False
        output.readers.append(above)

    @property
    def operator(self) -> StreamOperator[Any]:
        """Return the operator below."""
        return self._output.operator

    @property
    def inputs(self) -> Sequence[Input]:
        """Return the inputs of the operator that gives these changes."""
        return self._output.inputs

    @property
    def rows(self) -> Rows | None:
        """Return its changes, None when there are none."""
        return self._output.rows

    @property
    def bounds(self) -> Bounds:
        """Return where the values of its changes lie."""
        return self._output.bounds

    @cached_property
    def pays_by_key(self) -> bool:
        """Tell whether few changes are to read its rows by key: see `Input.pays_by_key`."""
        inputs = self._ctx.inputs
        if inputs.fills or not inputs.few:
            return False
        return inputs.bytes_at_rest(self.operator.node) >= inputs.limits.reread_bytes

    def sources(self, column: str) -> Sources | None:
        """Return where a column's values in the changes are found; None where nothing tells."""
        return self._output.sources(column)

    def finds(self, keys: KeySets) -> bool:
        """Tell whether its rows are read by keys, or are few: no large table is read whole."""
        return self._output.finds(keys)

    def materialize(self) -> DataFrame | None:
        """Return the changes without failing rows, cheap to read more than once."""
        return self._output.materialize()

    def single_use(self) -> DataFrame | None:
        """Return the changes without failing rows, for an operator that reads them once.

        An arrangement reads them, too.
        """
        return self._output.single_use() if self._table is None else self._output.materialize()

    def initial_rows(self) -> DataFrame | None:
        """Return all rows in an epoch that fills, to be read once."""
        return self._output.initial_rows() if self.operator.has_arrangement else self.rows_after()

    def rows_before(
        self, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS
    ) -> DataFrame | None:
        """Return the rows before the epoch, at least those within bounds that have the keys."""
        return (
            self._output.rows_before(within, keys)
            if self.operator.has_arrangement
            else self._arrangement.rows_before(within, keys)
        )

    def rows_after(self, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS) -> DataFrame | None:
        """Return the rows after the epoch, at least those within bounds that have the keys."""
        if self.operator.has_arrangement:
            return self._output.rows_after(within, keys)
        self._is_kept = True
        return self._arrangement.rows_after(self.materialize(), within, keys)

    def keep(self, within: Bounds = EVERYWHERE) -> None:
        """Record the changes in an arrangement that was not asked for the rows after the epoch."""
        if not self.operator.has_arrangement and not self._is_kept:
            self.rows_after(within)

    def rows_from_scan(self, scanned: DataFrame) -> DataFrame:
        """Return the rows that it has where these are all that it scans."""
        spark = self._ctx.inputs.spark
        return batch.rows_from_scan(self.operator.node, scanned, spark, self._ctx.now)

    @cached_property
    def _table(self) -> StateTable | None:
        """The table of the arrangement."""
        return self._above.arrangement(self._place)

    @property
    def _arrangement(self) -> Arrangement:
        """Return the arrangement that the operator above keeps."""
        assert self._table is not None, (self._above.node, self._place)
        gone = expired_rows(self._above, self._place, self._ctx)
        return self._ctx.stages.arrangement(self._table.name, self.operator.node.schema, gone)
