"""Aggregate: one row per group, kept as its rows change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.printing import to_text
from floodmark.stream.operators.base import StreamOperator, WatermarkValues
from floodmark.stream.operators.grouping import StreamGrouping, argument_columns
from floodmark.stream.operators.texts import one_group
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.aggregate_calls import overflows
from floodmark.stream.properties.bounds import Bounds, restrict_bounds
from floodmark.stream.properties.cleaning import Cleaning, scope_cleaning
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.state import VALUE_COUNT, OwnTableState, StateTable, values_name
from floodmark.stream.properties.upsert_keys import removable
from floodmark.stream.properties.watermark import Watermarks, restrict_watermarks
from floodmark.stream.properties.watermark_values import values_among


class StreamAggregate(StreamGrouping[n.Aggregate]):
    """One row per group, and the counts of the values of DISTINCT."""

    NODE = n.Aggregate

    def __init__(
        self, node: n.Node, identifier: str, inputs: tuple[StreamOperator[n.Node], ...]
    ) -> None:
        assert isinstance(node, n.Aggregate)
        self.stateless = False
        self.accumulators = StateTable(f"{identifier}_aggregate", "accumulators", node.group, None)
        super().__init__(node, identifier, inputs)

    @property
    def values(self) -> tuple[StateTable, ...]:
        """Return the tables of the arguments in `distinct`."""
        key = (*self.node.group, VALUE_COUNT)
        return tuple(
            StateTable(values_name(self.identifier, i), "distinct values", key, None)
            for i in range(len(self.distinct))
        )

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.RETRACT

    def derive_insert_only(self) -> bool:
        return False

    def derive_watermarks(self) -> Watermarks:
        return restrict_watermarks(self.input.marks, self.node.group)

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        group, below = frozenset(self.node.group), self.input.upsert_keys
        return [k for k in below if k <= group] if removable(self.node, below) else [group]

    def derive_arrangement(self) -> bool:
        return True

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (scope_cleaning(self.node.group, self.input.watermark_names),)

    def derive_beside(self) -> OwnTableState | None:
        """Each row of the object is one group, and its accumulators are hidden columns beside it.

        A group whose row can be a dead letter still needs accumulators, so it has a state table.
        """
        refuses = any(overflows(call) for _, call in self.node.aggregates)
        return None if refuses else OwnTableState.GROUPS

    def derive_state(self) -> tuple[StateTable, ...]:
        return (self.accumulators, *self.values, *self.input_tables)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return None

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return values_among(inputs[0], self.node.group)

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return None if inputs[0] is None else restrict_bounds(inputs[0], self.node.group)

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        whole = super().describe(names, place)
        if place.owner is None or not self.state:
            return whole
        values = (
            (f"values of {to_text(one.argument, names)}: {place.state_text(table)}", table.role)
            for one, table in zip(self.distinct, self.values, strict=True)
        )
        return replace(whole, details=(*whole.details, *values))

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        """Flink replaces an aggregate of single rows by a projection."""
        node, below = self.node, self.columns_read(needed)
        single = not check.strict and removable(node, check.keys(node.input, below))
        if check.appends(node.input) or not single:
            super().check_determinism(required, needed, check)
            return
        reads = (argument_columns(call) for column, call in node.aggregates if column in required)
        check.hand(node.input, (required & set(node.group)).union(*reads), below)

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        what = "an aggregate without GROUP BY that is not added to"
        return one_group(self, self.node.group, what) if self.recomputes else ()
