"""Projections without state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import asks_again, is_deterministic, reads_now
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.operators.projection import Projection
from floodmark.stream.operators.texts import WIDEST_HEAD
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.calc import calc_of
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy


class StreamProject(Projection[n.Project]):
    """Columns that are computed again from each old and each new row."""

    NODE = n.Project

    def derive_arrangement(self) -> bool:
        exprs = (expr for _, expr in self.node.columns)
        return self.input.has_arrangement and all(is_deterministic(e) for e in exprs)

    def derive_strategy(self) -> Strategy:
        return Method.EXACT

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def other_bound(self, column: str) -> str | None:
        passed = self.node.plain_columns
        below = next((c for c, name in passed.items() if name == column), None)
        other = None if below is None else self.input.other_bound(below)
        return None if other is None else passed.get(other)

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        texts = self.column_texts(names)
        head = ", ".join(text for text, _ in texts)
        if len(head) <= WIDEST_HEAD:
            return Description("Project", head)
        passed = [text for text, named in texts if not named]
        head = ", ".join(passed)
        if len(head) > WIDEST_HEAD:
            head = f"{len(passed)} columns"
        return Description("Project", head, tuple((text,) for text, named in texts if named))

    @property
    def title(self) -> str:
        return "the projection"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        calc_of(self.node).check(required, needed, check)

    def unstable_expression(self) -> Expr | None:
        """A row that is only added is projected once.

        What rows that are updated need stored is stored by now; a built-in volatile value that is
        not is the same for all changes of its key.
        """
        if self.input.append_only:
            return None
        return next((e for _, e in self.node.columns if reads_now(e) or asks_again(e)), None)
