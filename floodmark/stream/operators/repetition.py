"""What all operators share that repeat each row, with an ordinal that tells the rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.operators.base import Key
from floodmark.stream.operators.pass_through import PassThrough
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.stream_key import distinct

S = TypeVar("S", bound=n.ProjectSet, covariant=True)


class Repetition(PassThrough[S], family=True):
    """An operator that repeats rows: a key of its input with the ordinal is a key of its output."""

    @staticmethod
    def key_of(node: n.ProjectSet, keys: tuple[Key, ...]) -> Key:
        return distinct(*keys[0], node.ordinal)

    def derive_mode(self) -> ChangelogMode:
        return self.input.mode

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return [key | {self.node.ordinal} for key in self.input.unique_keys]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return ()

    def input_bounds(self, within: Bounds) -> Sequence[Bounds]:
        return (EVERYWHERE,)
