"""Filters by the epoch's time: rows come and go as time passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.printing import to_text
from floodmark.scalar.types import Kind
from floodmark.stream.operators.base import WatermarkValues
from floodmark.stream.operators.selection import Selection
from floodmark.stream.operators.texts import due_lines, fit_head
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.calc import calc_of
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.monotonicity import monotone_column
from floodmark.stream.properties.state import StateTable, due_table
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks, restrict_watermarks

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)


class StreamTemporalFilter(Selection[n.TemporalFilter]):
    """The rows whose period holds the epoch's time; future changes are stored."""

    NODE = n.TemporalFilter

    @property
    def comes_by(self) -> str | None:
        """Return the column by which alone rows come as time passes, if none goes.

        No row comes later whose time has come: the lower of that time and the watermark is not
        passed.
        """
        columns = {monotone_column(lower) for lower in self.node.lower_bounds}
        (column,) = columns if len(columns) == 1 else (None,)
        if column is None or self.node.upper_bounds:
            return None
        return column if self.node.input.field(column).type.kind in _TIMES else None

    @property
    def due_changes(self) -> StateTable:
        """Return the table of the changes that are made when their time comes."""
        return due_table(self.identifier)

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.RETRACT if self.node.upper_bounds else self.input.mode

    def derive_insert_only(self) -> bool:
        """To Flink a comparison with the time is an ordinary filter."""
        return self.input.insert_only

    def derive_watermarks(self) -> Watermarks:
        column = self.comes_by
        return restrict_watermarks(self.input.marks, () if column is None else (column,))

    def derive_arrangement(self) -> bool:
        """Which rows are there depends on the time."""
        return False

    def derive_uses(self) -> int:
        return 4

    def derive_strategy(self) -> Strategy:
        return Method.FALLS_DUE

    def derive_state(self) -> tuple[StateTable, ...]:
        return (self.due_changes,)

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        """Return the lower of the watermark and of the first time whose rows are still to come."""
        column = self.comes_by
        if column is None or column not in inputs[0]:
            return {}
        own = inputs[0][column]
        passed = [_first_to_come(lower, column, own, now) for lower in self.node.lower_bounds]
        known = [value for value in passed if value is not None]
        return {column: min(known)} if len(known) == len(passed) else {}

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        """Rows of any earlier epoch may fall due."""
        return EVERYWHERE

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        head = fit_head("TemporalFilter", to_text(self.node.condition, names))
        lines = [(f"from: {to_text(lower, names)}",) for lower in self.node.lower_bounds]
        lines += [(f"before: {to_text(upper, names)}",) for upper in self.node.upper_bounds]
        details = (*head.details, *lines, *due_lines(self, place))
        return Description(head.operator, head.arguments, details)

    @property
    def title(self) -> str:
        return "the temporal filter"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        calc_of(self.node).check(required, needed, check)

    def unstable_expression(self) -> Expr | None:
        """The condition reads the time; what follows from that is kept until it is due."""
        return None


def _first_to_come(lower: Expr, column: str, own: Any, now: datetime) -> Any:
    """Return the first time below a watermark at which rows are still to come, or the watermark.

    None: it is not known. What grows with the column is inverted by halving.
    """

    def has_come(value: Any) -> bool:
        bound, error = evaluate(lower, {column: value}, now)
        return error is None and bound is not None and bool(bound <= now)

    exact = isinstance(own, datetime)
    unit = timedelta(microseconds=1) if exact else timedelta(days=1)
    if has_come(own - unit):
        return own
    least = datetime(10, 1, 1, tzinfo=own.tzinfo) if exact else date(10, 1, 1)
    low, high = 0, (own - least) // unit
    # `low` back from the watermark has not come, `high` back has.
    if not has_come(least):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if has_come(own - middle * unit):
            high = middle
        else:
            low = middle
    return own - low * unit if low else own
