"""An operator without a file of its own yet: what is known of it is told by `properties/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.operators.base import Key, StreamOperator, Values
from floodmark.stream.printing.describe import describe
from floodmark.stream.printing.description import Description, Place
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties import (
    changelog_mode,
    cleaning,
    functional_dependencies,
    monotonicity,
    state,
    strategy,
    stream_key,
    unique_keys,
    upsert_keys,
    watermark,
    watermark_values,
)
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.key_sets import KeySet


class Derived(StreamOperator[n.Node]):
    """Any node, by rules that match over all of them."""

    NODE = n.Node
    TAKES_UPSERTS = True  # The rules refuse it.

    @staticmethod
    def key_of(node: Any, keys: tuple[Key, ...]) -> Key:
        return stream_key.derive(node, keys)

    def derive_mode(self) -> ChangelogMode:
        return changelog_mode.derive(self.node, self._modes)

    @property
    def _modes(self) -> tuple[ChangelogMode, ...]:
        return tuple(i.mode for i in self.inputs)

    def derive_watermarks(self) -> watermark.Watermarks:
        return watermark.derive(self.node, tuple(i.marks for i in self.inputs))

    def derive_dependencies(self) -> Sequence[Dependency]:
        below = tuple(i.dependencies for i in self.inputs)
        return functional_dependencies.derive(self.node, below).rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return unique_keys.candidates(self.node, tuple(i.unique_keys for i in self.inputs))

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return upsert_keys.derive(self.node, tuple(i.upsert_keys for i in self.inputs))

    def derive_monotone(self) -> monotonicity.Origins:
        return monotonicity.derive(self.node, tuple(i.monotone for i in self.inputs))

    def derive_arrangement(self) -> bool:
        return state.rereadable(self.node)

    def derive_cleaning(self) -> tuple[cleaning.Cleaning | None, ...]:
        return cleaning.cleaned_by(self.node, [i.marked for i in self.inputs])

    def derive_strategy(self) -> strategy.Strategy:
        return strategy.derive(self.node, self._modes)

    def derive_state(self) -> tuple[state.StateTable, ...]:
        key = self.inputs[0].stream_key if self.inputs else ()
        marks = tuple(i.watermarks for i in self.inputs)
        return state.derive(self.node, self.identifier, self._modes, key, marks)

    def derive_rereads(self) -> bool:
        return False

    def derive_beside(self) -> state.Beside | None:
        return None

    def propagate(self, inputs: Sequence[Values], now: datetime) -> Values:
        scanned = {self.node.object: inputs[0]} if isinstance(self.node, n.Scan) else {}
        return watermark_values.values_of(self.node, list(inputs), scanned, now)

    def bound(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        raise NotImplementedError

    def describe(self, names: Mapping[str, str], place: Place) -> Description:
        return describe(self.node, place)

    @property
    def title(self) -> str:
        raise NotImplementedError

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        raise NotImplementedError

    def unstable(self) -> Expr | None:
        raise NotImplementedError

    def unsupported(self) -> str | None:
        raise NotImplementedError
