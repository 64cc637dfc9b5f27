"""Projections whose volatile columns are evaluated once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AttemptExpr, Expr, columns_of
from floodmark.scalar.types import BOOLEAN
from floodmark.stream.operators.projection import Projection
from floodmark.stream.operators.texts import columns_text, state_cells
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.determinism_check import Cause, Columns, DeterminismCheck
from floodmark.stream.properties.nondeterministic_exprs import nondeterministic_exprs
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy


class StreamMaterializeProject(Projection[n.MaterializeProject]):
    """Columns of which some are kept for the row's end, or only for the epoch."""

    NODE = n.MaterializeProject

    def derive_arrangement(self) -> bool:
        """Rows cannot be read again, because the expressions would give other values."""
        return False

    def derive_uses(self) -> int:
        return 4

    def derive_strategy(self) -> Strategy:
        return Method.EVALUATED_ONCE

    @property
    def values(self) -> StateTable:
        """Return the table of what was evaluated, where the own table of the object has it not.

        Values of rows that change are kept as long as their row, others for the epoch.
        """
        key = self.input.stream_key
        if self.input.append_only:
            return StateTable(f"{self.identifier}_evaluated", "an epoch's rows", key, None)
        by = next((w.column for w in self.input.watermarks), None)
        return StateTable(f"{self.identifier}_stored", "stored values", key, by)

    def derive_state(self) -> tuple[StateTable, ...]:
        return (self.values,)

    def other_bound(self, column: str) -> str | None:
        return None

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        texts = self.column_texts(names)
        passed = ", ".join(text for text, named in texts if not named)
        computed = tuple((text,) for text, named in texts if named)
        stored = (f"stored: {columns_text(self.node.stored, {})}", *state_cells(self, place))
        return Description("MaterializeProject", passed, (*computed, stored))

    @property
    def title(self) -> str:
        return "the stored projection"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        """Stored columns are what they were; the others are computed again."""
        node = self.node
        exprs = dict(node.columns)
        fresh = [c for c in node.names if c not in node.stored]
        if not check.appends(node.input):
            for name in node.names:
                called = [
                    f
                    for f in nondeterministic_exprs((exprs[name],))
                    if f == "now()" or name in fresh
                ]
                if called and name in needed:
                    cause = Cause.CONDITION if _of_condition(name, exprs[name]) else Cause.FUNCTION
                    check.report(cause, node, (name,), called)
        reads = (columns_of(exprs[c]) for c in required if c in fresh)
        below = frozenset[str]().union(*(columns_of(exprs[c]) for c in needed))
        check.hand(node.input, frozenset[str]().union(*reads), below)

    def unstable_expression(self) -> Expr | None:
        """What is volatile is stored."""
        return None


def _of_condition(name: str, expr: Expr) -> bool:
    """Tell whether a stored column holds what a condition gave, or the attempt at it."""
    value = expr.operand if isinstance(expr, AttemptExpr) else expr
    return is_hidden(name) and value.type == BOOLEAN
