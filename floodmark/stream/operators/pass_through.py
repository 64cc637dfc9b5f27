"""What all operators share that pass the columns of their only input on, as they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from floodmark.stream.operators.base import N, WatermarkValues
from floodmark.stream.operators.linear import Linear
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.highest_values import highest_of_inputs
from floodmark.stream.properties.monotonicity import Origins


class PassThrough(Linear[N], family=True):
    """What holds between columns of the input, and of each alone, holds of the output.

    Selections give some of the rows, repetitions and windows add columns to each.
    """

    def derive_dependencies(self) -> Sequence[Dependency]:
        return self.input.dependencies.rules

    def derive_monotone(self) -> Origins:
        return self.input.monotone

    def other_bound(self, column: str) -> str | None:
        return self.input.other_bound(column)

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_of_inputs(inputs, self.names)
