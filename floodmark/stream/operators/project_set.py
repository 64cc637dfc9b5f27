"""A row for each element of an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import asks_again, is_deterministic, reads_now
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.printing import show_name, to_text
from floodmark.stream.operators.base import WatermarkValues
from floodmark.stream.operators.repetition import Repetition
from floodmark.stream.operators.texts import fit_head
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.nondeterministic_exprs import nondeterministic_exprs
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks


class StreamProjectSet(Repetition[n.ProjectSet]):
    """Rows repeated for their elements, which an ordinal tells apart."""

    NODE = n.ProjectSet

    def derive_watermarks(self) -> Watermarks:
        return self.input.marks

    def derive_arrangement(self) -> bool:
        return self.input.has_arrangement and is_deterministic(self.node.call)

    def derive_strategy(self) -> Strategy:
        return Method.EXACT

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return inputs[0]

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return inputs[0]

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        made = ", ".join(map(show_name, self.node.outputs))
        word = "ProjectSet outer" if self.node.outer else "ProjectSet"
        return fit_head(word, f"{made}: {to_text(self.node.call, names)}")

    @property
    def title(self) -> str:
        return "the set-returning function"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        called = nondeterministic_exprs((self.node.call,))
        self.check_repetition(called, required, needed, check)

    def unstable_expression(self) -> Expr | None:
        """A row that is only added is repeated once, but not where the time goes on.

        A built-in volatile value is the same for all changes of a key.
        """
        call = self.node.call
        again = asks_again(call) and not self.input.append_only
        return call if reads_now(call) or again else None
