"""What all operators share that give some of their input's rows as they are."""

from __future__ import annotations

from collections.abc import Sequence

from floodmark.plan import nodes as n
from floodmark.stream.operators.base import Key, N
from floodmark.stream.operators.pass_through import PassThrough
from floodmark.stream.properties.bounds import ByColumn, T
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage


class Selection(PassThrough[N], family=True):
    """Keys are those of the input: no row is there twice."""

    @staticmethod
    def key_of(node: n.Node, keys: tuple[Key, ...]) -> Key:
        return keys[0]

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return self.input.unique_keys

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return self.input.upsert_keys

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        return inputs[0]

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return (within,)
