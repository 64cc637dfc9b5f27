"""What an evaluation sees besides its rows: the time, the watermarks, the dead letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from floodmark.plan.expr.evaluate import evaluate as evaluate_expression, evaluate_bound
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.nodes import Node
from floodmark.reference.rows import Row, freeze, key_of
from floodmark.scalar.functions.volatile import RowSeed

RelationWatermarks = Mapping[str, Mapping[str, Any]]
"""Watermark values by object and column; a column without an entry has no watermark yet."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A row that an operator put aside: where, the row error's code (621 for E0621), the row."""

    node: Node
    code: int
    row: Row


@dataclass(frozen=True, slots=True)
class Closing:
    """The watermarks between which windows close: `[previous, current)`.

    `then` was the time of the previous ones, without one now.
    """

    previous: RelationWatermarks
    current: RelationWatermarks
    then: datetime | None = None


CallPlace = tuple[Node, tuple[Any, ...]]
"""An operator that evaluates once, and the stream key of an input row."""
StoredCalls = Mapping[CallPlace, tuple[Any, Any]]
"""The input row, and what holds for it since: when it changed, what was looked up for it then."""
T = TypeVar("T")
CHANGED = "__changed_in"


@dataclass(frozen=True, slots=True)
class ReplayState:
    """What values that are evaluated once depend on: seed, object, epoch, what was stored."""

    seed: str = ""
    object: str = ""
    epoch: int = 0
    before: StoredCalls = field(default_factory=dict)
    after: dict[CallPlace, tuple[Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moment:
    """One evaluation: the epoch's time, what closes (None: everything), where dead letters go."""

    now: datetime
    closing: Closing | None = None
    dead: list[DeadLetter] = field(default_factory=list)
    memory: ReplayState = field(default_factory=ReplayState)

    def value(self, expr: Expr, row: Row, seed: RowSeed | None = None) -> tuple[Any, int | None]:
        """Return the value and the error code of an expression; one of the two is None."""
        value, error = evaluate_expression(expr, row, self.now, seed)
        return value, None if error is None else int(error)

    def bound_value(self, expr: Expr, row: Row) -> tuple[Any, int | None]:
        """Return the value and the error code of a time that is compared with others."""
        value, error = evaluate_bound(expr, row, self.now)
        return value, None if error is None else int(error)

    def seed(self, node: Node, key: tuple[str, ...], epoch: str | None = None) -> RowSeed:
        """Return what identifies a row of a node: its stream key, and its epoch's column."""
        columns = tuple((c, node.field(c).type) for c in key)
        return RowSeed(self.memory.seed, self.memory.object, columns, epoch)

    def row_moment(self, node: Node, row: Row, key: tuple[str, ...]) -> tuple[Moment, int]:
        """Return the moment and the epoch in which an input row came, or has last changed.

        What an operator gives out for a row it gives out then: `now()` is the time of that epoch.
        """
        fresh = (self.memory.epoch, self.now)
        epoch, now = self.recall(node, row, key, lambda: fresh)
        return replace(self, now=now), epoch

    def recall(self, node: Node, row: Row, key: tuple[str, ...], fresh: Callable[[], T]) -> T:
        """Return what an operator evaluated for a row when that came, or last changed."""
        place = (node, key_of(row, key))
        known = self.memory.before.get(place)
        unchanged = known is not None and known[0] == freeze(row)
        value: T = known[1] if known is not None and unchanged else fresh()
        self.memory.after[place] = (freeze(row), value)
        return value

    def bury(self, node: Node, code: int, row: Row) -> None:
        """Put a row aside."""
        self.dead.append(DeadLetter(node, code, row))
