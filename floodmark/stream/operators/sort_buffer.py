"""Rows that wait for the watermark, EMIT ON WINDOW CLOSE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.printing import show_name, to_text
from floodmark.stream.operators.base import StreamOperator, WatermarkValues
from floodmark.stream.operators.closing import closes_from_input
from floodmark.stream.operators.selection import Selection
from floodmark.stream.operators.texts import STATELESS, buffer_lines
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.state import StateTable, buffer_name
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks, restrict_watermarks
from floodmark.stream.properties.watermark_values import values_among


class StreamSortBuffer(Selection[n.SortBuffer]):
    """Rows that are emitted once, when they can no longer change.

    Where it is `stateless` it reads the rows between the last watermark and this one.
    """

    NODE = n.SortBuffer

    def __init__(
        self, node: n.Node, identifier: str, inputs: tuple[StreamOperator[n.Node], ...]
    ) -> None:
        assert isinstance(node, n.SortBuffer)
        self.buffer = StateTable(buffer_name(identifier), "rows", (node.column,), node.column)
        self.stateless = closes_from_input(node, inputs[0])
        super().__init__(node, identifier, inputs)

    def derive_mode(self) -> ChangelogMode:
        """An emitted row is never retracted."""
        return ChangelogMode.APPEND_ONLY

    def derive_insert_only(self) -> bool:
        return True

    def derive_watermarks(self) -> Watermarks:
        """Rows wait for one column: other times may be passed before they come."""
        return restrict_watermarks(self.input.marks, (self.node.column,))

    def derive_arrangement(self) -> bool:
        """Which rows are there depends on the watermark."""
        return False

    def derive_uses(self) -> int:
        return 4

    def derive_strategy(self) -> Strategy:
        return Method.ROWS_HELD

    def derive_state(self) -> tuple[StateTable, ...]:
        return () if self.stateless else (self.buffer,)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return self.input, self.node.column

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return values_among(inputs[0], (self.node.column,))

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        """Rows of any earlier epoch may be released."""
        return EVERYWHERE

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        lines = buffer_lines(self, place)
        if place.owner is not None:
            lines = lines or ((STATELESS,),)
        if self.node.condition is not None:
            lines = (*lines, (f"at its release: {to_text(self.node.condition, names)}",))
        column = self.node.column
        return Description("SortBuffer", f"by {names.get(column, show_name(column))}", lines)

    @property
    def title(self) -> str:
        return "the sort buffer"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        """Say by which watermark rows are released where several unrelated ones could."""
        column, names = self.node.column, labels[self.node.input]
        groups = {w.column: w.group for w in self.input.watermarks}
        others = [names[c] for c, group in groups.items() if group != groups[column]]
        if not others:
            return ()
        text = f"{self.identifier} releases rows by {names[column]} alone, not by "
        return (("A109", text + ", ".join(others)),)

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node, used = self.node, frozenset((self.node.column,))
        check.hand(node.input, required | check.also(used), needed | used)

    def unstable_expression(self) -> Expr | None:
        """A condition that reads the time is asked once, at the release."""
        return None
