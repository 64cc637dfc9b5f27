"""What all operators share that repeat each row, with an ordinal that tells the rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.stream.operators.base import Key
from floodmark.stream.operators.pass_through import PassThrough
from floodmark.stream.properties.bounds import ByColumn, T
from floodmark.stream.properties.determinism_check import Cause, Columns, DeterminismCheck
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import NOWHERE, Lineage, origins_of
from floodmark.stream.properties.stream_key import distinct

S = TypeVar("S", bound=n.ProjectSet, covariant=True)


class Repetition(PassThrough[S], family=True):
    """An operator that repeats rows: a key of its input with the ordinal is a key of its output."""

    @staticmethod
    def key_of(node: n.ProjectSet, keys: tuple[Key, ...]) -> Key:
        return distinct(*keys[0], node.ordinal)

    def derive_mode(self) -> ChangelogMode:
        return self.input.mode

    def derive_insert_only(self) -> bool:
        return self.input.insert_only

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return [key | {self.node.ordinal} for key in self.input.unique_keys]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return ()

    def check_repetition(
        self, called: Sequence[str], required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        """Check the determinism; `called` are the non-deterministic functions that count."""
        node = self.node
        made = {*node.outputs, node.ordinal}
        read = columns_of(node.call)
        if not check.appends(node.input) and called and (check.strict or required & made):
            check.report(Cause.FUNCTION, node, node.outputs, called)
        check.hand(node.input, (required - made) | check.also(read), (needed - made) | read)

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        node = self.node
        made = dict.fromkeys(node.outputs, origins_of((node.call,), inputs[0]))
        return {**inputs[0], **made, node.ordinal: NOWHERE}

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return ({},)
