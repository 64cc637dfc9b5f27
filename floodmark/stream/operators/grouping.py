"""What operators with one row per group share: how each call is kept, and in which table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Expr, columns_of
from floodmark.plan.expr.printing import aggregate_text
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.growth import growth_directions
from floodmark.stream.operators.texts import (
    STATELESS,
    columns_text,
    first_unstable,
    reread_text,
    role_cells,
)
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.strategies import call_texts, strategy_text
from floodmark.stream.properties.bounds import ByColumn, T, restrict_bounds
from floodmark.stream.properties.determinism_check import Cause, Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import Dependency, restrict
from floodmark.stream.properties.highest_values import highest_of_inputs
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage, origins_of
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.nondeterministic_exprs import (
    nondeterministic_exprs,
    volatile_aggregate,
)
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import (
    Distinct,
    KeepGroups,
    Strategy,
    Upkeep,
    keep_groups,
)

G = TypeVar("G", bound=n.Aggregate | n.CloseAggregate, covariant=True)


class StreamGrouping(StreamOperator[G], family=True):
    """One row per group; `accumulators` is the table of the groups, a `stateless` one has none."""

    accumulators: StateTable
    stateless: bool

    @property
    def keeps(self) -> KeepGroups:
        """Return how the groups are kept."""
        assert isinstance(self.strategy, KeepGroups)
        return self.strategy

    @property
    def upkeeps(self) -> tuple[Upkeep, ...]:
        """Return how each aggregate is kept."""
        return self.keeps.upkeeps

    @property
    def distinct(self) -> tuple[Distinct, ...]:
        """Return the arguments of which the count of each value is stored."""
        return self.keeps.distinct

    @staticmethod
    def key_of(node: n.Aggregate | n.CloseAggregate, keys: tuple[Key, ...]) -> Key:
        return node.group

    def derive_dependencies(self) -> Sequence[Dependency]:
        # Calls may have the names of columns below.
        return restrict(self.input.dependencies.rules, frozenset(self.node.group)).rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        group = frozenset(self.node.group)
        return [group, *(key for key in self.input.unique_keys if key <= group)]

    def derive_monotone(self) -> Origins:
        below = self.input.monotone
        return {c: below[c] for c in self.node.group if c in below}

    def derive_strategy(self) -> Strategy:
        node = self.node
        growth = {} if node.CLOSES else growth_directions(self.input, node.group)
        return keep_groups(node, self.input.mode, growth)

    @property
    def recomputes(self) -> bool:
        """Tell whether touched groups are computed from all of their rows."""
        return self.keeps.recomputes

    def derive_needs_all_rows(self) -> bool:
        return self.recomputes

    def derive_uses(self) -> int:
        return 2

    @property
    def input_tables(self) -> tuple[StateTable, ...]:
        """Return the table with the rows of touched groups, where nothing else has them."""
        return self.arrangements(self.node.group) if self.recomputes else ()

    def other_bound(self, column: str) -> str | None:
        other = self.input.other_bound(column) if column in self.node.group else None
        return other if other in self.node.group else None

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_of_inputs(inputs, self.names)

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        (below,) = inputs
        calls = {name: origins_of(call.children, below) for name, call in self.node.aggregates}
        return {name: below[name] for name in self.node.group} | calls

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return (restrict_bounds(within, self.node.group),)

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        node, labels = self.node, place.labels[self.node]
        head = f"by {columns_text(node.group, names)}" if node.group else "one group"
        lines: list[tuple[str, ...]] = []
        for (column, call), how in zip(node.aggregates, call_texts(self.keeps), strict=True):
            text, label = aggregate_text(call, names), labels[column]
            line = text if label == text else f"{label}: {text}"
            lines.append((line, *self._call_cells(how, place)))
        if not lines:
            lines.append(("distinct", *self._call_cells(strategy_text(self.strategy), place)))
        return Description("Aggregate", head, (*lines, *self._input_lines(place)))

    def _call_cells(self, how: str, place: NodePlace) -> tuple[str, ...]:
        """Return where a call is kept, and how."""
        if place.owner is None:
            return ()
        if not self.state:
            return (STATELESS,) if self.stateless else ()
        cleaned = ("cleaned by watermark",) if self.accumulators.cleaned_by is not None else ()
        return (place.state_text(self.accumulators, self.own_table), *cleaned, how)

    def _input_lines(self, place: NodePlace) -> list[tuple[str, ...]]:
        """Return a line for what touched groups are computed from."""
        if place.owner is None or not self.state or not self.recomputes:
            return []
        table = self.arrangement(0)
        source = reread_text(self.input, place) if table is None else place.state_text(table)
        return [(f"input: {source}", *role_cells(table))]

    @property
    def title(self) -> str:
        calls = zip(self.keeps.calls, self.upkeeps, strict=True)
        again = (call.function for call, upkeep in calls if upkeep is Upkeep.SCOPE)
        first = next(again, None)
        return "the aggregate" if first is None else f"the aggregate {first}"

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node = self.node
        appends = check.appends(node.input)
        live = {column: call for column, call in node.aggregates if column in needed}
        for column, call in live.items():
            called = () if appends else nondeterministic_exprs(call.children)
            if called:
                check.report(Cause.FUNCTION, node, (column,), called)
        for column, call in live.items():
            own = volatile_aggregate(call)
            if own is not None and (column in required if appends else check.strict):
                check.report(Cause.FUNCTION, node, (column,), (own,))
        below = self.columns_read(needed)
        check.hand(node.input, below, below)

    def columns_read(self, needed: Columns) -> Columns:
        """Return the columns of the input from which some of the output are computed."""
        calls = (call for column, call in self.node.aggregates if column in needed)
        return frozenset(self.node.group).union(*map(argument_columns, calls))

    def unstable_expression(self) -> Expr | None:
        return first_unstable(self.node.expressions)

    def unsupported_part(self) -> str | None:
        return None


def argument_columns(call: AggCall) -> Columns:
    """Return the columns that a call reads."""
    return frozenset(c for e in call.children for c in columns_of(e))
