"""What windows of a fixed length share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.operators.pass_through import PassThrough
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import ByColumn, T
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks

W = TypeVar("W", bound=n.Tumble | n.Hop, covariant=True)


class FixedWindow(PassThrough[W], family=True):
    """Windows that follow from the time of a row alone."""

    def derive_mode(self) -> ChangelogMode:
        return self.input.mode

    def derive_insert_only(self) -> bool:
        return self.input.insert_only

    def derive_watermarks(self) -> Watermarks:
        """Start and end carry a watermark where the time does."""
        known, node = self.input.marks, self.node
        own = [w for w in known.columns if w.column == node.time]
        windows = [n.WatermarkColumn(c, w.group) for w in own for c in (node.start, node.end)]
        return Watermarks((*known.columns, *windows), known.pairs)

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return ()

    def derive_arrangement(self) -> bool:
        return self.input.has_arrangement

    def derive_strategy(self) -> Strategy:
        return Method.EXACT

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def other_bound(self, column: str) -> str | None:
        bounds = (self.node.start, self.node.end)
        if column not in bounds:
            return super().other_bound(column)
        return bounds[1 - bounds.index(column)]

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        time = inputs[0][self.node.time]
        return {**inputs[0], self.node.start: time, self.node.end: time}

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return ({},)

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node, used = self.node, frozenset((self.node.time,))
        bounds = required & {node.start, node.end}
        also = check.also(used if bounds else ())
        check.hand(node.input, required | also, needed | used)

    def unstable_expression(self) -> Expr | None:
        return None
