"""Tumbling windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.plan import nodes as n
from floodmark.plan.expr.printing import interval_words, show_name
from floodmark.scalar.time_windows import windows_of
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.fixed_window import FixedWindow
from floodmark.stream.operators.texts import offset_texts
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.properties.bounds import Bounds, tumble_bounds
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.highest_values import highest_window
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.monotonicity import Origins


class StreamTumble(FixedWindow[n.Tumble]):
    """The one window that holds the time of a row."""

    NODE = n.Tumble

    @staticmethod
    def key_of(node: n.Tumble, keys: tuple[Key, ...]) -> Key:
        return keys[0]

    def derive_dependencies(self) -> Sequence[Dependency]:
        node = self.node
        window = Dependency(frozenset((node.time,)), frozenset((node.start, node.end)))
        return [*super().derive_dependencies(), window]

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return self.input.unique_keys

    def derive_monotone(self) -> Origins:
        node, below = self.node, super().derive_monotone()
        if node.time not in below:
            return below
        return {**below, **dict.fromkeys((node.start, node.end), below[node.time])}

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        node, below = self.node, inputs[0]
        if node.time not in below:
            return below
        ((start, end),) = windows_of(below[node.time], node.size, node.size, node.offset)
        return {**below, node.start: start, node.end: end}

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_window(self.node, self.node.size, inputs[0])

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return None if inputs[0] is None else tumble_bounds(self.node, inputs[0])

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        node = self.node
        parts = [show_name(node.time), interval_words(node.size), *offset_texts(node.offset)]
        return Description("Tumble", ", ".join(parts))

    @property
    def title(self) -> str:
        return "the tumbling window"
