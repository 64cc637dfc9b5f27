"""INTERSECT and EXCEPT [ALL]: rows by how often each side has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.types import Schema
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.texts import side_lines
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T
from floodmark.stream.properties.cleaning import Cleaning, equality_cleaning
from floodmark.stream.properties.determinism_check import NONE, Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.highest_values import highest_of_inputs
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage, origins_by_position
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.state import OwnTableState, StateTable
from floodmark.stream.properties.strategy import RecomputeScopes, ScopeKind, Strategy
from floodmark.stream.properties.watermark import Watermarks, merge_groups
from floodmark.stream.properties.watermark_values import lowest


class StreamSetOperation(StreamOperator[n.SetOperation]):
    """Rows are recomputed where one side changes: columns that are hidden take no part."""

    NODE = n.SetOperation

    @staticmethod
    def key_of(node: n.SetOperation, keys: tuple[Key, ...]) -> Key:
        return node.names

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.RETRACT

    def derive_insert_only(self) -> bool:
        return False

    def derive_watermarks(self) -> Watermarks:
        """Columns that meet by position carry one where both do: equal rows are equal in them."""
        lefts, rights = ({w.column: w.group for w in side.watermarks} for side in self.inputs)
        met = [(a, b) for a, b in self.node.pairs if a in lefts and b in rights]
        columns = (n.WatermarkColumn(a, merge_groups((lefts[a], rights[b]))) for a, b in met)
        return Watermarks(tuple(columns))

    def derive_dependencies(self) -> Sequence[Dependency]:
        return ()

    def derive_unique_keys(self) -> Sequence[KeySet]:
        every = frozenset(self.names)
        return [every, *(key for key in self.left.unique_keys if key <= every)]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        """All columns, by which Flink groups; where they are unique already it joins alone."""
        every, left = frozenset(self.names), self.left.upsert_keys
        if self.node.all:
            return ()
        if any(key <= every for key in left):
            return [key for key in left if key >= every]
        return [every]

    def derive_monotone(self) -> Origins:
        return {}

    def derive_arrangement(self) -> bool:
        return False

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        left, right = (side.watermark_names for side in self.inputs)
        met = next(((a, b) for a, b in self.node.pairs if a in left and b in right), None)
        return (None, None) if met is None else equality_cleaning(*met)

    def derive_strategy(self) -> Strategy:
        return RecomputeScopes(ScopeKind.ROWS, tuple(self.node.positional_columns))

    def derive_needs_all_rows(self) -> bool:
        return True

    def derive_uses(self) -> int:
        return 4

    def derive_beside(self) -> OwnTableState | None:
        return None

    def derive_state(self) -> tuple[StateTable, ...]:
        return self.arrangements(*self.node.positional_columns)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return None

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        left, right = inputs
        met = [(a, b) for a, b in self.node.pairs if a in left and b in right]
        return {a: lowest((left[a], right[b]), self.node.field(a).type) for a, b in met}

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        return origins_by_position(self.names, self.node.positional_columns, inputs)

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return {}, {}

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_of_inputs(inputs, self.names)

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return {}

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        copies = "all" if self.node.all else "distinct"
        return Description(self.node.kind.value.capitalize(), copies, side_lines(self, place))

    @property
    def title(self) -> str:
        return "the set operation"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        """In Flink a semi or anti join on all columns below a DISTINCT; ALL counts rows."""
        left, right = self.node.inputs
        shown, shown_right = _visible(left.schema), _visible(right.schema)
        if check.strict or self.node.all:
            check.hand(left, shown, shown)
            check.hand(right, shown_right, shown_right)
            return
        distinct = any(key <= shown for key in check.keys(left, shown))
        part = required & shown if distinct else shown
        check.hand(left, part if check.keys(left, shown) else shown, shown)
        check.hand(right, NONE if check.keys(right, shown_right) else shown_right, shown_right)

    def unstable_expression(self) -> Expr | None:
        return None

    def unsupported_part(self) -> str | None:
        return None


def _visible(schema: Schema) -> Columns:
    return frozenset(f.name for f in schema if not is_hidden(f.name))
