"""OverWindow: window functions over one partitioning and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr, columns_of
from floodmark.plan.expr.printing import order_text, window_text
from floodmark.scalar.functions import WINDOWS, aggregate_overload
from floodmark.scalar.types import Kind
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.texts import (
    columns_text,
    first_unstable,
    one_group,
    recompute_lines,
)
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T, restrict_bounds
from floodmark.stream.properties.cleaning import Cleaning, scope_cleaning
from floodmark.stream.properties.determinism_check import Cause, Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage, origins_of
from floodmark.stream.properties.look_ahead import LookAhead, look_ahead
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.nondeterministic_exprs import nondeterministic_exprs
from floodmark.stream.properties.reach import Reach, move_at_least, reach_of
from floodmark.stream.properties.state import OwnTableState, StateTable
from floodmark.stream.properties.strategy import (
    RecomputeRanges,
    RecomputeScopes,
    ScopeKind,
    Strategy,
)
from floodmark.stream.properties.stream_key import distinct
from floodmark.stream.properties.watermark import Watermarks, restrict_watermarks
from floodmark.stream.properties.watermark_values import values_among


class StreamOverWindow(StreamOperator[n.OverWindow]):
    """Window functions; `ahead` says how far calls look ahead. Without it no row is ever final."""

    NODE = n.OverWindow

    def __init__(
        self, node: n.Node, identifier: str, inputs: tuple[StreamOperator[n.Node], ...]
    ) -> None:
        assert isinstance(node, n.OverWindow)
        self.ahead: LookAhead | None = look_ahead(node)
        super().__init__(node, identifier, inputs)

    @property
    def reach(self) -> Reach | None:
        """Return how far a changed row reaches; without it whole partitions are recomputed."""
        return self.strategy.reach if isinstance(self.strategy, RecomputeRanges) else None

    @staticmethod
    def key_of(node: n.OverWindow, keys: tuple[Key, ...]) -> Key:
        return distinct(*keys[0], *node.partition)

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.RETRACT

    def derive_insert_only(self) -> bool:
        return False

    def derive_watermarks(self) -> Watermarks:
        """The time of ORDER BY carries one where calls look ahead for a fixed time at most.

        After that time, later rows do not change their values for a row.
        """
        node, known, ahead = self.node, self.input.marks, self.ahead
        kept = restrict_watermarks(known, node.partition).columns
        if ahead is None:
            return Watermarks(kept)
        time = node.order[0].column
        if node.close_call is not None:
            own = (w for w in known.columns if w.column == time)
            return Watermarks((*kept, *(n.WatermarkColumn(node.close_call, w.group) for w in own)))
        inexact = node.input.field(time).type.kind in (Kind.REAL, Kind.DOUBLE)
        if ahead.counts or (ahead.distance and inexact):
            return Watermarks(kept)
        return Watermarks(restrict_watermarks(known, (*node.partition, time)).columns)

    def derive_dependencies(self) -> Sequence[Dependency]:
        return self.input.dependencies.rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        numbers = (c for c, call in self.node.calls if call.function == "row_number")
        numbered = (frozenset((*self.node.partition, c)) for c in numbers)
        return [*self.input.unique_keys, *numbered]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return [key for key in self.input.upsert_keys if key >= set(self.node.partition)]

    def derive_monotone(self) -> Origins:
        return self.input.monotone

    def derive_arrangement(self) -> bool:
        return False

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (
            scope_cleaning(self.node.partition, self.input.watermark_names) or self._by_frames(),
        )

    def _by_frames(self) -> Cleaning | None:
        """Return the cleaning of rows that frames look back, and ahead, to: a time, or so many."""
        reach, order = self.reach, self.node.order
        if reach is None or not order or order[0].column not in self.input.watermark_names:
            return None
        time = order[0].column
        if reach.unit != "RANGE":
            return Cleaning(time, ((time, Decimal(0)),), int(reach.back + reach.ahead))
        return Cleaning(time, ((time, -(reach.back + reach.ahead)),))

    def derive_strategy(self) -> Strategy:
        scopes, reach = (self.node.partition,), reach_of(self.node)
        if reach is None:
            return RecomputeScopes(ScopeKind.PARTITIONS, scopes)
        return RecomputeRanges(scopes, reach)

    def derive_needs_all_rows(self) -> bool:
        return True

    def derive_uses(self) -> int:
        return 4

    def derive_beside(self) -> OwnTableState | None:
        """Where ranges are recomputed no rows of before are needed but those of the input."""
        return OwnTableState.ROWS if self.reach is None else None

    def derive_state(self) -> tuple[StateTable, ...]:
        return self.arrangements(self.node.partition)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return None

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        """Return the times below which no function of the window changes any more."""
        node, values, ahead = self.node, inputs[0], self.ahead
        kept = values_among(values, node.partition)
        if ahead is None or node.order[0].column not in values:
            return kept
        time = node.order[0].column
        if node.close_call is not None:
            return {**kept, node.close_call: values[time]}
        if ahead.counts:
            return kept
        final = move_at_least(values[time], -ahead.distance) if ahead.distance else values[time]
        return kept if final is None else {**kept, time: final}

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        calls = {name: origins_of(call.args, inputs[0]) for name, call in self.node.calls}
        return {**inputs[0], **calls}

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return (restrict_bounds(within, self.node.partition),)

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        node, values = self.node, inputs[0]
        closes = node.close_call is not None and node.order[0].column in values
        return {**values, str(node.close_call): values[node.order[0].column]} if closes else values

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return None if inputs[0] is None else restrict_bounds(inputs[0], self.node.partition)

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        node, labels = self.node, place.labels[self.node]
        texts = ((labels[c], window_text(call, names)) for c, call in node.calls)
        calls = tuple((text if label == text else f"{label}: {text}",) for label, text in texts)
        by = [f"by {columns_text(node.partition, names)}"] if node.partition else []
        order = [f"order by {order_text(node.order, names)}"] if node.order else []
        details = (*calls, *recompute_lines(self, place))
        return Description("OverWindow", " ".join([*by, *order]), details)

    @property
    def title(self) -> str:
        _, call = self.node.calls[0]
        return f"the window function {call.function}"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return one_group(self, self.node.partition, "OVER without PARTITION BY")

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node = self.node
        order = frozenset((*node.partition, *(k.column for k in node.order)))
        everywhere = needed if check.strict else required
        parts = {name: [*call.args, *filter(None, (call.filter,))] for name, call in node.calls}
        for name, exprs in parts.items():
            called = nondeterministic_exprs(exprs) if name in everywhere else ()
            if called and not check.appends(node.input):
                check.report(Cause.FUNCTION, node, (name,), called)
        read, live = (
            frozenset(
                c for name in names & parts.keys() for e in parts[name] for c in columns_of(e)
            )
            for names in (everywhere, needed)
        )
        below = required & frozenset(node.input.names)
        check.hand(node.input, below | order | read, needed | order | live)

    def unstable_expression(self) -> Expr | None:
        return first_unstable(self.node.expressions)

    def unsupported_part(self) -> str | None:
        return unsupported_frame(self.node)


def unsupported_frame(node: n.OverWindow) -> str | None:
    """Return the first call with EXCLUDE of an aggregate that has no form over a list."""
    return next(
        (f"{c.function} with EXCLUDE" for _, c in node.calls if _has_unsupported_frame(c)), None
    )


def _has_unsupported_frame(call: n.WindowCall) -> bool:
    """Tell whether a frame leaves rows out of an aggregate that has no form over a list."""
    if call.frame is None or call.frame[3] == "NO OTHERS" or call.function in WINDOWS:
        return False
    types = [arg.type for arg in call.args]
    found = aggregate_overload(call.function, types)
    return found.over_list is None and found.extremum is None and not found.is_sum(types)
