"""Series that end at the epoch's time: values come as time passes, and stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.printing import show_name, to_text
from floodmark.stream.operators.base import WatermarkValues
from floodmark.stream.operators.repetition import Repetition
from floodmark.stream.operators.texts import due_lines
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.state import StateTable, due_table
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks


class StreamGrowingSeries(Repetition[n.GrowingSeries]):
    """Rows repeated for the values that have come; when the next one is due is kept."""

    NODE = n.GrowingSeries

    @property
    def due_changes(self) -> StateTable:
        """Return the table of the changes that are made when their time comes."""
        return due_table(self.identifier)

    def derive_watermarks(self) -> Watermarks:
        """Values come when their time has come, wherever the watermark is by then."""
        return Watermarks()

    def derive_arrangement(self) -> bool:
        """The number of values of a row depends on the time."""
        return False

    def derive_strategy(self) -> Strategy:
        return Method.SERIES_GROW

    def derive_state(self) -> tuple[StateTable, ...]:
        return (self.due_changes,)

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return {}

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        """Series of any earlier epoch may go on."""
        return EVERYWHERE

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        made = f"{show_name(self.node.outputs[0])}: {to_text(self.node.call, names)}"
        return Description("GrowingSeries", made, due_lines(self, place))

    @property
    def title(self) -> str:
        return "the growing series"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        """Each value is given when its time has come."""
        self.check_repetition((), required, needed, check)

    def unstable_expression(self) -> Expr | None:
        """The series reads the time; that its next value is due is kept."""
        return None
