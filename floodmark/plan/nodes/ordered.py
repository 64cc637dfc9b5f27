"""Nodes for which the order of rows matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from floodmark.plan.expr.expressions import Expr, columns_of
from floodmark.plan.expr.window_values import SortKey, WindowCall
from floodmark.plan.nodes.base import (
    Node,
    PassedColumns,
    Unary,
    alike_columns,
    check_reads,
    check_unique,
    same_columns,
)
from floodmark.scalar.types import BIGINT, Field, Schema


@dataclass(frozen=True, slots=True)
class OrderedNode(Unary):
    """What nodes share that look at rows in an order, each group of them apart."""

    @property
    def scope(self) -> tuple[str, ...]:
        """Return the columns that divide the rows into groups."""
        raise NotImplementedError

    @property
    def keys(self) -> tuple[SortKey, ...]:
        """Return the order of the rows of a group."""
        raise NotImplementedError

    def rearrange(
        self, below: Node, scope: tuple[str, ...], keys: tuple[SortKey, ...]
    ) -> OrderedNode:
        """Return the node over another input, divided and ordered by other columns."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TopN(OrderedNode):
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

    @property
    def scope(self) -> tuple[str, ...]:
        return self.group

    @property
    def keys(self) -> tuple[SortKey, ...]:
        return self.order

    def rearrange(self, below: Node, scope: tuple[str, ...], keys: tuple[SortKey, ...]) -> TopN:
        return replace(self, input=below, group=scope, order=keys)

    @property
    def limits_rows(self) -> bool:
        return self.limit is not None or self.offset > 0

    @property
    def reads(self) -> frozenset[str] | None:
        """Without an order rows are taken in that of all columns that people see."""
        if self.limit is not None and not self.order:
            return None
        return frozenset((*self.group, *(k.column for k in self.order)))

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        if self.limit is None and not self.offset:
            return [same_columns(self.input)]
        return [alike_columns(same_columns(self.input, self.group))]

    @property
    def generated_columns(self) -> Mapping[str, str]:
        call = "rank()" if self.with_ties else "row_number()"
        return {} if self.number is None else {self.number: call}

    def output(self) -> Schema:
        if self.number is None:
            return self.input.schema
        return (*self.input.schema, Field(self.number, BIGINT, nullable=False))


@dataclass(frozen=True, slots=True)
class OverWindow(OrderedNode):
    """Adds window functions over one partitioning and order.

    `close_call` names the call with the time of the last row that other calls look ahead to. When
    that time is below the watermark, the row is final. NULL says that there are too few rows yet.
    """

    partition: tuple[str, ...]
    order: tuple[SortKey, ...]
    calls: tuple[tuple[str, WindowCall], ...]
    close_call: str | None = None

    def __post_init__(self) -> None:
        check_unique(self.schema)
        check_reads(self, (*self.partition, *(k.column for k in self.order)), self.input.schema)
        for _, call in self.calls:
            for expr in (*call.args, *filter(None, (call.filter,))):
                check_reads(self, columns_of(expr), self.input.schema)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.partition

    @property
    def keys(self) -> tuple[SortKey, ...]:
        return self.order

    def rearrange(
        self, below: Node, scope: tuple[str, ...], keys: tuple[SortKey, ...]
    ) -> OverWindow:
        return replace(self, input=below, partition=scope, order=keys)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        calls = [call for _, call in self.calls]
        filters = (call.filter for call in calls if call.filter is not None)
        return (*(a for call in calls for a in call.args), *filters)

    @property
    def reads(self) -> frozenset[str]:
        keys = (*self.partition, *(k.column for k in self.order))
        return frozenset(keys).union(*map(columns_of, self.expressions))

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        return [alike_columns(same_columns(self.input, self.partition))]

    @property
    def generated_columns(self) -> Mapping[str, WindowCall]:
        return dict(self.calls)

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

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return () if self.condition is None else (self.condition,)
