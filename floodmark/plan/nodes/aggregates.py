"""Nodes with one row per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from floodmark.plan.expr.expressions import AggCall, Expr, columns_of
from floodmark.plan.nodes.base import (
    PassedColumns,
    Unary,
    alike_columns,
    check_reads,
    check_unique,
    same_columns,
)
from floodmark.scalar.types import Field, Schema


@dataclass(frozen=True, slots=True)
class Grouping(Unary):
    """What aggregates share: the group's columns first, then one column per call."""

    group: tuple[str, ...]
    aggregates: tuple[tuple[str, AggCall], ...]
    CLOSES: ClassVar[bool]
    """Whether a group is emitted once, when the watermark has passed it."""

    def __post_init__(self) -> None:
        check_unique(self.schema)
        check_reads(self, self.group, self.input.schema)
        for _, call in self.aggregates:
            for expr in call.children:
                check_reads(self, columns_of(expr), self.input.schema)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(e for _, call in self.aggregates for e in call.children)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(self.group).union(*map(columns_of, self.expressions))

    @property
    def generated_columns(self) -> Mapping[str, AggCall]:
        return dict(self.aggregates)

    def output(self) -> Schema:
        below = {f.name: f for f in self.input.schema}
        keys = tuple(below[name] for name in self.group)
        return (*keys, *(Field(name, call.type) for name, call in self.aggregates))


@dataclass(frozen=True, slots=True)
class Aggregate(Grouping):
    """One row per group; without group columns exactly one. DISTINCT is an aggregate of nothing."""

    CLOSES = False

    @property
    def identity_columns(self) -> Sequence[tuple[str, ...]]:
        return [self.group]

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        return [alike_columns(same_columns(self.input, self.group))]

    def may_give(self, below: Sequence[bool]) -> bool:
        return any(below) or not self.group


@dataclass(frozen=True, slots=True)
class CloseAggregate(Grouping):
    """An aggregate that emits each group once, when the watermark has passed its window column."""

    window: str
    CLOSES = True

    def __post_init__(self) -> None:
        Grouping.__post_init__(self)
        assert self.window in self.group
