"""Nodes for which the order of rows matters."""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.plan.expr.expressions import Expr, columns_of
from floodmark.plan.expr.window_values import SortKey, WindowCall
from floodmark.plan.nodes.base import Unary, check_reads, check_unique
from floodmark.scalar.types import BIGINT, Field, Schema


@dataclass(frozen=True, slots=True)
class TopN(Unary):
    """The first rows per group (no group: of all), after skipping `offset`.

    `number` names a column that counts the rows of a group from 1; with ties it is their rank.
    """

    group: tuple[str, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0
    with_ties: bool = False
    number: str | None = None

    def __post_init__(self) -> None:
        check_unique(self.schema)
        check_reads(self, (*self.group, *(k.column for k in self.order)), self.input.schema)

    def output(self) -> Schema:
        if self.number is None:
            return self.input.schema
        return (*self.input.schema, Field(self.number, BIGINT, nullable=False))


@dataclass(frozen=True, slots=True)
class OverWindow(Unary):
    """Adds window functions over one partitioning and order.

    `closes` names the call that gives the time of the last row that the others look ahead to: below
    the watermark it says that the row is final. NULL says that there are too few rows yet.
    """

    partition: tuple[str, ...]
    order: tuple[SortKey, ...]
    calls: tuple[tuple[str, WindowCall], ...]
    closes: str | None = None

    def __post_init__(self) -> None:
        check_unique(self.schema)
        check_reads(self, (*self.partition, *(k.column for k in self.order)), self.input.schema)
        for _, call in self.calls:
            for expr in (*call.args, *filter(None, (call.filter,))):
                check_reads(self, columns_of(expr), self.input.schema)

    def output(self) -> Schema:
        return (*self.input.schema, *(Field(name, call.type) for name, call in self.calls))


@dataclass(frozen=True, slots=True)
class SortBuffer(Unary):
    """Holds rows until the watermark of `column` has passed them, then releases them in order.

    Of these only the rows are given out for which `condition`, which may read the time, is TRUE in
    the epoch that releases them.
    """

    column: str
    condition: Expr | None = None

    def __post_init__(self) -> None:
        check_reads(self, (self.column,), self.input.schema)
        if self.condition is not None:
            check_reads(self, columns_of(self.condition), self.input.schema)
