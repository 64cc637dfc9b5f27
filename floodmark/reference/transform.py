"""TRANSFORM USING over plain rows: what is stored of a row, and who sees it when.

When a row is seen is asked of the conditions as they were written, at each time anew: no bound of
a period is computed for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from floodmark.changelog import is_hidden
from floodmark.plan.declaration import RowTransform
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.reference.rows import Row
from floodmark.scalar.types import Schema


@dataclass(frozen=True)
class ReferenceTransform:
    """What a source makes of its rows; `raw` and `key` are those of the rows as they come."""

    parts: RowTransform
    raw: Schema
    key: tuple[str, ...]

    def refusal(self, row: Row, now: datetime) -> int | None:
        """Return why a row is a dead letter: its condition, or else what else is asked of it."""
        condition = self.parts.condition
        if condition is not None:
            value, error = evaluate(condition, row, now)
            if error is not None or value is not True:
                return None if error is None else int(error)
        bounds = (*self.parts.lower_bounds, *self.parts.upper_bounds)
        errors = (evaluate(e, row, now)[1] for e in (*(e for _, e in self.parts.columns), *bounds))
        return next((int(error) for error in errors if error is not None), None)

    def keeps(self, row: Row, now: datetime) -> bool:
        """Tell whether a row is stored: its condition holds, and it is seen now or later."""
        if not _holds(self.parts.condition, row, now):
            return False
        lowers, uppers = (
            [evaluate(e, row, now)[0] for e in side]
            for side in (self.parts.lower_bounds, self.parts.upper_bounds)
        )
        if None in (*lowers, *uppers):
            return False
        return not uppers or (now < min(uppers) and (not lowers or max(lowers) < min(uppers)))

    def visible_rows(self, rows: Iterable[Row], now: datetime) -> Iterator[Row]:
        """Yield the rows that are visible at a time, as they are stored."""
        for row in rows:
            if _holds(self.parts.condition, row, now) and _holds(self.parts.timed, row, now):
                yield self.project(row, now)

    def project(self, row: Row, now: datetime) -> Row:
        """Return the stored form of a row."""
        columns = {name: evaluate(expr, row, now)[0] for name, expr in self.parts.columns}
        hidden = {f.name: row[f.name] for f in self.raw if is_hidden(f.name)}
        return {**columns, **hidden}


def _holds(condition: Expr | None, row: Row, now: datetime) -> bool:
    return condition is None or evaluate(condition, row, now)[0] is True
