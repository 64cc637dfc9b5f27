"""What all operators share that repeat each row, with an ordinal that tells the rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.row_local import RowLocal
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.highest_values import highest_among
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.stream_key import distinct

S = TypeVar("S", bound=n.ProjectSet, covariant=True)


class Repetition(RowLocal[S], family=True):
    """An operator that repeats rows: a key of its input with the ordinal is a key of its output."""

    @staticmethod
    def key_of(node: n.ProjectSet, keys: tuple[Key, ...]) -> Key:
        return distinct(*keys[0], node.ordinal)

    def derive_mode(self) -> ChangelogMode:
        return self.input.mode

    def derive_dependencies(self) -> Sequence[Dependency]:
        return self.input.dependencies.rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return [key | {self.node.ordinal} for key in self.input.unique_keys]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return ()

    def input_bounds(self, within: Bounds) -> Sequence[Bounds]:
        return (EVERYWHERE,)

    def other_bound(self, column: str) -> str | None:
        return self.input.other_bound(column)

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_among(inputs, self.names)

    def derive_monotone(self) -> Origins:
        return self.input.monotone
