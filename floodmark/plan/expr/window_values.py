"""Calls over windows, their order, and lengths of windows in time."""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.types import SqlType


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to order by."""

    column: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window function and its frame: `(unit, start, end, exclude)`; None where none is given."""

    function: str
    args: tuple[Expr, ...]
    type: SqlType
    frame: tuple[str, str, str, str] | None = None
    filter: Expr | None = None
    ignore_nulls: bool = False


Interval = tuple[int, int, int]
"""(months, days, microseconds)."""
