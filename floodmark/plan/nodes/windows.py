"""Nodes that put rows into windows of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from floodmark.plan.expr.window_values import Interval
from floodmark.plan.nodes.base import (
    PassedColumns,
    Unary,
    alike_columns,
    check_reads,
    check_unique,
    same_columns,
)
from floodmark.scalar.functions.intervals import DAY_MICROS, LAST
from floodmark.scalar.types import Field, Kind, Schema


@dataclass(frozen=True, slots=True)
class Window(Unary):
    """What windows share: `start` and `end` are added to the input's columns.

    They are NULL where the time column is.
    """

    time: str
    start: str = field(kw_only=True)
    end: str = field(kw_only=True)

    def __post_init__(self) -> None:
        check_unique(self.schema)
        check_reads(self, (self.time,), self.input.schema)

    def output(self) -> Schema:
        time = self.input.field(self.time)
        bounds = (Field(name, time.type, time.nullable) for name in (self.start, self.end))
        return (*self.input.schema, *bounds)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset((self.time,))

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        return [same_columns(self.input)]


@dataclass(frozen=True, slots=True)
class Tumble(Window):
    """Adds the fixed window `[start, end)` that holds the time column."""

    size: Interval
    offset: Interval


@dataclass(frozen=True, slots=True)
class Hop(Window):
    """Repeats each row for every window of `size`, one per `slide`, that holds the time column."""

    slide: Interval
    size: Interval
    offset: Interval

    @property
    def end_settles_start(self) -> bool:
        """Tell whether no two windows have one end.

        A window that is cut at the last year may end together with the one before it. Windows of
        days do so, and windows of times do where one ends with the last microsecond.
        """
        _, days, micros = (sum(parts) for parts in zip(self.offset, self.size, strict=True))
        slide = self.slide[1] * DAY_MICROS + self.slide[2]
        ends_last = (LAST - days * DAY_MICROS - micros) % slide == 0
        return not ends_last and self.input.field(self.time).type.kind is not Kind.DATE


@dataclass(frozen=True, slots=True)
class Session(Window):
    """Adds the session of its partition that holds the row: rows at most `gap` apart.

    Rows without a time are dropped, unless it `keeps_untimed` ones: in a session without bounds.
    """

    gap: Interval
    partition: tuple[str, ...]
    keeps_untimed: bool = False

    def __post_init__(self) -> None:
        Window.__post_init__(self)
        check_reads(self, self.partition, self.input.schema)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset((self.time, *self.partition))

    @property
    def identity_columns(self) -> Sequence[tuple[str, ...]]:
        return [self.partition]

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        return [alike_columns(same_columns(self.input, self.partition))]


@dataclass(frozen=True, slots=True)
class CloseSession(Session):
    """Sessions that give their rows once, when the watermark of the time has passed their end."""
