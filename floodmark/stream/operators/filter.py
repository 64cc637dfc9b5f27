"""Filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import asks_again, is_deterministic, reads_now
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.printing import to_text
from floodmark.stream.operators.base import WatermarkValues
from floodmark.stream.operators.selection import Selection
from floodmark.stream.operators.texts import fit_head
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.calc import calc_of
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.first_rows import check_first_rows
from floodmark.stream.properties.functional_dependencies import Dependency, equalities
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.ranking import ranking_of
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks


class StreamFilter(Selection[n.Filter]):
    """The rows for which a predicate is TRUE; each old and each new row is asked."""

    NODE = n.Filter

    @property
    def reads_now(self) -> bool:
        """Tell whether the epoch's time decides which rows pass."""
        return reads_now(self.node.predicate)

    def derive_mode(self) -> ChangelogMode:
        """A row that passed at one epoch's time need not pass at the next one's."""
        return ChangelogMode.RETRACT if self.reads_now else self.input.mode

    def derive_insert_only(self) -> bool:
        """Flink sees a rank of which the first rows are kept as one operator, which updates."""
        return ranking_of(self.node) is None and self.input.insert_only

    def derive_watermarks(self) -> Watermarks:
        """Where the time decides, a row below the watermark may still come or go."""
        return Watermarks() if self.reads_now else self.input.marks

    def derive_dependencies(self) -> Sequence[Dependency]:
        return [*super().derive_dependencies(), *equalities(self.node.predicate)]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        """Flink sees a rank of which the first rows are kept as one operator."""
        ranking, keys = ranking_of(self.node), self.input.upsert_keys
        if ranking is None:
            return keys
        partition = frozenset(ranking.partition)
        if ranking.first:
            return (partition,)
        return [*(key for key in keys if key >= partition), partition | {ranking.column}]

    def derive_arrangement(self) -> bool:
        return self.input.has_arrangement and is_deterministic(self.node.predicate)

    def derive_strategy(self) -> Strategy:
        return Method.EXACT

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return {} if self.reads_now else inputs[0]

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return inputs[0]

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        return fit_head("Filter", to_text(self.node.predicate, names))

    @property
    def title(self) -> str:
        return "the filter"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        ranking = ranking_of(self.node)
        if ranking is None:
            calc_of(self.node).check(required, needed, check)
        else:
            check_first_rows(ranking.window, ranking.column, required, needed, check)

    def unstable_expression(self) -> Expr | None:
        """A row that is only added is filtered once, but not where the time goes on.

        A built-in volatile value is the same for all changes of a key.
        """
        predicate = self.node.predicate
        again = asks_again(predicate) and not self.input.append_only
        return predicate if self.reads_now or again else None
