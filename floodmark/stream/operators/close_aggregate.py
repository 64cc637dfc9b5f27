"""CloseAggregate: each group once, when the watermark has passed its window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.operators.base import StreamOperator, WatermarkValues
from floodmark.stream.operators.closing import closes_from_input
from floodmark.stream.operators.grouping import StreamGrouping
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.cleaning import Cleaning, scope_cleaning
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.state import OwnTableState, StateTable
from floodmark.stream.properties.watermark import Watermarks, restrict_watermarks
from floodmark.stream.properties.watermark_values import values_among


class StreamCloseAggregate(StreamGrouping[n.CloseAggregate]):
    """Groups that are emitted once; `closing` are the columns that say which ones have closed.

    Where it is `stateless` it reads the rows between the last watermark and this one.
    """

    NODE = n.CloseAggregate

    def __init__(
        self, node: n.Node, identifier: str, inputs: tuple[StreamOperator[n.Node], ...]
    ) -> None:
        assert isinstance(node, n.CloseAggregate)
        name = f"{identifier}_aggregate"
        self.accumulators = StateTable(name, "accumulators", node.group, node.window)
        self.stateless = closes_from_input(node, inputs[0])
        other = inputs[0].other_bound(node.window)
        self.closing = (node.window, other) if other in node.group else (node.window,)
        super().__init__(node, identifier, inputs)

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.APPEND_ONLY

    def derive_insert_only(self) -> bool:
        return True

    def derive_watermarks(self) -> Watermarks:
        return restrict_watermarks(self.input.marks, self.closing)

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return []

    def derive_arrangement(self) -> bool:
        return False

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (scope_cleaning((self.node.window,), self.input.watermark_names),)

    def derive_beside(self) -> OwnTableState | None:
        return None

    def derive_state(self) -> tuple[StateTable, ...]:
        return () if self.stateless else (self.accumulators, *self.input_tables)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return self.input, self.node.window

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return values_among(inputs[0], self.closing)

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        """Groups close without a change of the input, and their rows came before."""
        return EVERYWHERE

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()
