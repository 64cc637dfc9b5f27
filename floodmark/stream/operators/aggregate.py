"""Aggregate: one row per group, kept as its rows change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.plan.expr.printing import to_text
from floodmark.stream.operators.base import StreamOperator, WatermarkValues
from floodmark.stream.operators.grouping import StreamGrouping, argument_columns
from floodmark.stream.operators.texts import one_group
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.aggregate_calls import overflows
from floodmark.stream.properties.bounds import Bounds, restrict_bounds
from floodmark.stream.properties.cleaning import Cleaning, scope_cleaning
from floodmark.stream.properties.determinism_check import NONE, Columns, DeterminismCheck
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

    def growth(self, labels: Labels) -> str | None:
        """Return by which groups the state grows where more and more come and none has to go."""
        group, below = self.node.group, self.input
        if not self.state or not _growing_columns(below) & set(group):
            return None
        by, marked = ([labels[below.node][c] for c in cs] for cs in (group, self.watermark_names))
        why = "no watermark column in GROUP BY cleans it"
        if marked:
            column = ", ".join(sorted(marked))
            why = f"only with EMIT ON WINDOW CLOSE does the watermark of {column} clean it"
        return f"the state of {self.identifier} grows with the groups (by {', '.join(by)}): {why}"


def _growing_columns(op: StreamOperator[n.Node]) -> Columns:
    """Return the columns of which more and more values come, and none has to go.

    Rows go with those of a table, as time passes, and where there is room for a few only. A value
    that has to be equal to one of a table goes with that, and a condition on both can end a row.
    """
    names = frozenset(op.names)
    if op.append_only or not op.inputs:
        return names if op.append_only else NONE
    few = not op.stream_key or (isinstance(op.node, n.OrderedNode) and not op.node.scope)
    ends = isinstance(op.node, n.TemporalFilter) or (
        isinstance(op.node, n.Filter) and op.input.append_only
    )
    if few or ends:
        return NONE
    below = [_growing_columns(i) for i in op.inputs]
    match op.node:
        case n.Project(columns=made) | n.MaterializeProject(columns=made):
            return frozenset(name for name, expr in made if columns_of(expr) & below[0])
        case n.Pairing(equi=equi) as pair if pair.residual is None or all(below):
            left, right = below
            equal = {a for a, b in equi if b not in right and not pair.keeps_unmatched}
            equal |= {b for a, b in equi if a not in left and not pair.kind.pads_left}
            return (left | right) & names - equal
        case n.Unary(input=under):
            passed = below[0] & names
            return passed | names - set(under.names) if passed else NONE
        case _:
            grows = any(below) if isinstance(op.node, n.UnionAll) else all(below)
            return names if grows else NONE
