"""Hopping windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.plan import nodes as n
from floodmark.plan.expr.printing import interval_words, show_name
from floodmark.scalar.time_windows import align, shift_and_clamp, windows_of
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.fixed_window import FixedWindow
from floodmark.stream.operators.texts import offset_texts
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.properties.bounds import Bounds, hop_bounds
from floodmark.stream.properties.functional_dependencies import Dependency, settles
from floodmark.stream.properties.highest_values import highest_window
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.stream_key import distinct


class StreamHop(FixedWindow[n.Hop]):
    """All windows that hold the time of a row; the row is repeated for each.

    So neither start nor end follows the time.
    """

    NODE = n.Hop

    @staticmethod
    def key_of(node: n.Hop, keys: tuple[Key, ...]) -> Key:
        return distinct(*keys[0], node.start, node.end)

    def derive_dependencies(self) -> Sequence[Dependency]:
        node = self.node
        rules = [*super().derive_dependencies(), settles(node.start, node.end)]
        return [*rules, settles(node.end, node.start)] if node.end_settles_start else rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        node = self.node
        bounds = (node.start, node.end) if node.end_settles_start else (node.start,)
        return [key | {bound} for key in self.input.unique_keys for bound in bounds]

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        """Return the earliest window that a row at the watermark or above can still be in."""
        node, below = self.node, inputs[0]
        if node.time not in below:
            return below
        windows = windows_of(below[node.time], node.slide, node.size, node.offset)
        # Between two windows that one is over, and the next one is open.
        following = shift_and_clamp(align(below[node.time], node.slide, node.offset), node.slide)
        start, end = windows[0] if windows else (following, shift_and_clamp(following, node.size))
        return {**below, node.start: start, node.end: end}

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_window(self.node, self.node.slide, inputs[0])

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return None if inputs[0] is None else hop_bounds(self.node, inputs[0])

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        node = self.node
        parts = [show_name(node.time), f"every {interval_words(node.slide)}"]
        parts += [f"for {interval_words(node.size)}", *offset_texts(node.offset)]
        return Description("Hop", ", ".join(parts))

    @property
    def title(self) -> str:
        return "the hopping window"
