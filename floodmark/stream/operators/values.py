"""Constant rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.operators.base import Key, WatermarkValues as Marks
from floodmark.stream.operators.linear import Linear
from floodmark.stream.operators.texts import first_unstable
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds, ByColumn, T
from floodmark.stream.properties.determinism_check import Cause, Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import NOWHERE, Lineage
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks


class StreamValues(Linear[n.Values]):
    """Rows that come once, in the first epoch; a hidden ordinal is their key."""

    NODE = n.Values

    @staticmethod
    def key_of(node: n.Values, keys: tuple[Key, ...]) -> Key:
        return tuple(c for c in node.names if is_hidden(c)) or node.names

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.APPEND_ONLY

    def derive_insert_only(self) -> bool:
        return True

    def derive_watermarks(self) -> Watermarks:
        return Watermarks()

    def derive_dependencies(self) -> Sequence[Dependency]:
        return ()

    def derive_unique_keys(self) -> Sequence[KeySet]:
        """A single row has the empty key."""
        if len(self.node.rows) < 2:
            return (frozenset(),)
        return (frozenset(c for c in self.names if is_hidden(c)),)

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return ()

    def derive_monotone(self) -> Origins:
        return {}

    def derive_arrangement(self) -> bool:
        return True

    def derive_strategy(self) -> Strategy:
        return Method.READ

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate(self, inputs: Sequence[Marks], now: datetime) -> Marks:
        return {}

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        return dict.fromkeys(self.names, NOWHERE)

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return ()

    def propagate_highest(self, inputs: Sequence[Marks], now: datetime) -> Marks:
        return {}

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return EVERYWHERE

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        count = len(self.node.rows)
        return Description("Values", f"{count} row{'' if count == 1 else 's'}")

    @property
    def title(self) -> str:
        return "VALUES"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        """What is said of no row would keep the time at which the view was made."""
        node = self.node
        for index, name in enumerate(node.names):
            if check.strict and name in needed and any(reads_now(row[index]) for row in node.rows):
                check.report(Cause.FUNCTION, node, (name,), ("now()",))

    def unstable_expression(self) -> Expr | None:
        return first_unstable([expr for row in self.node.rows for expr in row])
