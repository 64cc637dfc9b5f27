"""Top-N: the first rows per group, or of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, Expr
from floodmark.plan.expr.printing import order_text
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.texts import columns_text, one_group, recompute_lines
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T, restrict_bounds
from floodmark.stream.properties.calc import calc_of
from floodmark.stream.properties.cleaning import Cleaning, scope_cleaning
from floodmark.stream.properties.determinism_check import Cause, Columns, DeterminismCheck
from floodmark.stream.properties.first_rows import check_first_rows
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.highest_values import highest_of_inputs
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import NOWHERE, Lineage
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.nondeterministic_exprs import nondeterministic_exprs
from floodmark.stream.properties.state import OwnTableState, StateTable
from floodmark.stream.properties.strategy import KeepFirst, RecomputeScopes, ScopeKind, Strategy
from floodmark.stream.properties.stream_key import distinct
from floodmark.stream.properties.watermark import Watermarks, restrict_watermarks
from floodmark.stream.properties.watermark_values import values_among


class StreamTopN(StreamOperator[n.TopN]):
    """The first rows; over rows that are only added they are kept, else groups are recomputed."""

    NODE = n.TopN

    @staticmethod
    def key_of(node: n.TopN, keys: tuple[Key, ...]) -> Key:
        one = node.limit == 1 and not node.with_ties and not node.offset
        return node.group if one and node.group else distinct(*node.group, *keys[0])

    @property
    def keeps_first(self) -> bool:
        """Tell whether the first rows are among those of before and the new ones."""
        return isinstance(self.strategy, KeepFirst)

    @property
    def first_rows(self) -> StateTable:
        """Return the table of the first rows of each group, where they are kept."""
        (column,) = self.cleaning_columns
        return StateTable(f"{self.identifier}_first", "first rows", self.node.group, column)

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.RETRACT

    def derive_insert_only(self) -> bool:
        return False

    def derive_watermarks(self) -> Watermarks:
        return restrict_watermarks(self.input.marks, self.node.group)

    def derive_dependencies(self) -> Sequence[Dependency]:
        return self.input.dependencies.rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        node = self.node
        one = [frozenset(node.group)] if node.limit == 1 and not node.with_ties else []
        numbered = node.number is not None and not node.with_ties
        by_number = [frozenset((*node.group, str(node.number)))] if numbered else []
        return [*self.input.unique_keys, *one, *by_number]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        node, below = self.node, self.input.upsert_keys
        if not node.group:
            ordered = frozenset(k.column for k in node.order)
            return [key for key in below if key >= ordered]
        group = frozenset(node.group)
        if node.limit == 1 and not node.offset and not node.with_ties:
            return [group]
        numbered = [] if node.number is None else [group | {node.number}]
        return [*(key for key in below if key >= group), *numbered]

    def derive_monotone(self) -> Origins:
        return self.input.monotone

    def derive_arrangement(self) -> bool:
        return False

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (scope_cleaning(self.node.group, self.input.watermark_names),)

    def derive_strategy(self) -> Strategy:
        node = self.node
        if self.input.append_only and not node.offset and node.limit is not None:
            return KeepFirst(node.limit)
        return RecomputeScopes(ScopeKind.GROUPS, (node.group,))

    def derive_needs_all_rows(self) -> bool:
        return not self.keeps_first

    def derive_uses(self) -> int:
        return 4

    def derive_beside(self) -> OwnTableState | None:
        return OwnTableState.ROWS

    def derive_state(self) -> tuple[StateTable, ...]:
        return (self.first_rows,) if self.keeps_first else self.arrangements(self.node.group)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return None

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return values_among(inputs[0], self.node.group)

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        number = self.node.number
        return inputs[0] if number is None else {**inputs[0], number: NOWHERE}

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return (restrict_bounds(within, self.node.group),)

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_of_inputs(inputs, self.names)

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return None if inputs[0] is None else restrict_bounds(inputs[0], self.node.group)

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        node = self.node
        parts = [f"by {columns_text(node.group, names)}"] if node.group else []
        parts += [f"order by {order_text(node.order, names)}"] if node.order else []
        parts += [f"limit {node.limit}"] if node.limit is not None else []
        parts += ["with ties"] if node.with_ties else []
        parts += [f"offset {node.offset}"] if node.offset else []
        parts += ["numbered"] if node.number is not None else []
        return Description("TopN", " ".join(parts), recompute_lines(self, place))

    @property
    def title(self) -> str:
        return "LIMIT"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return one_group(self, self.node.group, "ORDER BY … LIMIT over everything")

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node = self.node
        if node.group:
            check_first_rows(node, node.number, required, needed, check)
            return
        used = frozenset(k.column for k in node.order)
        required, needed = required - {node.number}, needed - {node.number}
        if not check.strict:
            self._check_above_first_rows(required, check)
        check.hand(node.input, required | check.also(used), needed | used)

    def _check_above_first_rows(self, required: Columns, check: DeterminismCheck) -> None:
        """Flink computes columns that do not order the rows after it has chosen them."""
        node, calc = self.node, calc_of(self.node.input)
        if not all(isinstance(calc.columns[k.column], ColumnRef) for k in node.order):
            return
        for name in sorted(required, key=node.names.index):
            called = nondeterministic_exprs((calc.columns[name],))
            if called:
                check.report(Cause.FUNCTION, calc.computing_node(name), (name,), called)

    def unstable_expression(self) -> Expr | None:
        return None

    def unsupported_part(self) -> str | None:
        return None
