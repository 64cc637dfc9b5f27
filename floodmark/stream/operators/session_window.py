"""Shared parts of the two session operators, one with updates and one that emits on close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.printing import interval_words, show_name
from floodmark.scalar.time_windows import shift_and_clamp
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.texts import columns_text, one_group
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds, ByColumn, T
from floodmark.stream.properties.cleaning import Cleaning, scope_cleaning
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.state import OwnTableState
from floodmark.stream.properties.watermark import Watermarks, restrict_watermarks
from floodmark.stream.properties.watermark_values import values_among

S = TypeVar("S", bound=n.Session, covariant=True)


class SessionWindow(StreamOperator[S], family=True):
    """Rows with the start and end of their session."""

    @staticmethod
    def key_of(node: n.Session, keys: tuple[Key, ...]) -> Key:
        return keys[0]

    @property
    def passed_on(self) -> tuple[str, ...]:
        """Return the columns whose watermarks the rows keep."""
        return self.node.partition

    def derive_insert_only(self) -> bool:
        return self.input.insert_only

    def derive_watermarks(self) -> Watermarks:
        """The end of a session carries the watermark of its time, neither start nor time do.

        A row that comes later is at the watermark or above. It may prolong a session or merge two;
        taken back, it may split one. Of each of these the end before and after is not below it.
        """
        node, known = self.node, self.input.marks
        own = (w for w in known.columns if w.column == node.time)
        ends = (n.WatermarkColumn(node.end, w.group) for w in own)
        return Watermarks((*restrict_watermarks(known, self.passed_on).columns, *ends))

    def derive_dependencies(self) -> Sequence[Dependency]:
        return self.input.dependencies.rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return self.input.unique_keys

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return []

    def derive_monotone(self) -> Origins:
        return self.input.monotone

    def derive_arrangement(self) -> bool:
        return False

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (scope_cleaning(self.node.partition, self.input.watermark_names),)

    def derive_beside(self) -> OwnTableState | None:
        return None

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        node, values = self.node, inputs[0]
        kept = values_among(values, self.passed_on)
        return {**kept, node.end: values[node.time]} if node.time in values else kept

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        time = inputs[0][self.node.time]
        return {**inputs[0], self.node.start: time, self.node.end: time}

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return ({},)

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        node, values = self.node, inputs[0]
        known = node.time in values
        return (
            {**values, node.end: shift_and_clamp(values[node.time], node.gap)} if known else values
        )

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return EVERYWHERE

    def head(self, names: Mapping[str, str]) -> str:
        """Return the time, gap and key of the sessions, as EXPLAIN shows them."""
        node = self.node
        by = [f"by {columns_text(node.partition, names)}"] if node.partition else []
        return ", ".join([show_name(node.time), f"gap {interval_words(node.gap)}", *by])

    @property
    def title(self) -> str:
        return "the session window"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return one_group(self, self.node.partition, "SESSION without a key")

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        below, reads = self.node.input, self.node.reads
        used = frozenset(below.names) if reads is None else reads
        check.hand(below, required | check.also(used), needed | used)

    def unstable_expression(self) -> Expr | None:
        return None

    def unsupported_part(self) -> str | None:
        return None
