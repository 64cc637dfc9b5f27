"""What an evaluation sees besides its rows: the time, the watermarks, the dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from floodmark.plan.expressions import Expr
from floodmark.plan.nodes import Node
from floodmark.reference.expressions import evaluate as evaluate_expression
from floodmark.reference.rows import Row

Watermarks = Mapping[str, Mapping[str, Any]]
"""Watermark values by object and column; a column without an entry has no watermark yet."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A row that an operator put aside: where, the row error's code (621 for E0621), the row."""

    node: Node
    code: int
    row: Row


@dataclass(frozen=True, slots=True)
class Closing:
    """The watermarks between which windows close: `[previous, current)`."""

    previous: Watermarks
    current: Watermarks


@dataclass(frozen=True, slots=True)
class Moment:
    """One evaluation: the epoch's time, what closes (None: everything), where dead letters go."""

    now: datetime
    closing: Closing | None = None
    dead: list[DeadLetter] = field(default_factory=list)

    def value(self, expr: Expr, row: Row) -> tuple[Any, int | None]:
        """Return the value and the error code of an expression; one of the two is None."""
        value, error = evaluate_expression(expr, row, self.now)
        return value, None if error is None else int(error)

    def bury(self, node: Node, code: int, row: Row) -> None:
        """Put a row aside."""
        self.dead.append(DeadLetter(node, code, row))
