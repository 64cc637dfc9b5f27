"""The operator of a tee, for the test of a new operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.operators.base import WatermarkValues
from floodmark.stream.operators.selection import Selection
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks
from tests.house.tee_node import Tee


class StreamTee(Selection[Tee]):
    """All that is known of the input is known of what is passed on."""

    NODE = Tee

    def derive_mode(self) -> ChangelogMode:
        return self.input.mode

    def derive_insert_only(self) -> bool:
        return self.input.insert_only

    def derive_watermarks(self) -> Watermarks:
        return self.input.marks

    def derive_arrangement(self) -> bool:
        return self.input.has_arrangement

    def derive_strategy(self) -> Strategy:
        return Method.EXACT

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return inputs[0]

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return inputs[0]

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        return Description("Tee", "")

    @property
    def title(self) -> str:
        return "the tee"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        check.hand(self.input.node, required, needed)

    def unstable_expression(self) -> Expr | None:
        return None
