"""What all operators share that give some of their input's rows as they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from floodmark.plan import nodes as n
from floodmark.stream.operators.base import Key, N, WatermarkValues
from floodmark.stream.operators.row_local import RowLocal
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.highest_values import highest_among
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.monotonicity import Origins


class Selection(RowLocal[N], family=True):
    """Keys, and which columns settle others, are those of the input."""

    @staticmethod
    def key_of(node: n.Node, keys: tuple[Key, ...]) -> Key:
        return keys[0]

    def derive_dependencies(self) -> Sequence[Dependency]:
        return self.input.dependencies.rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return self.input.unique_keys

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return self.input.upsert_keys

    def input_bounds(self, within: Bounds) -> Sequence[Bounds]:
        return (within,)

    def other_bound(self, column: str) -> str | None:
        return self.input.other_bound(column)

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_among(inputs, self.names)

    def derive_monotone(self) -> Origins:
        return self.input.monotone
