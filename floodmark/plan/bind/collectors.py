"""Collectors of subqueries, aggregates and calls that become operators below an expression."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from floodmark.errors import Span
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Expr
from floodmark.plan.expr.window_values import WindowCall
from floodmark.scalar.types import SqlType

SET_COLUMN = "__set"
"""Prefix of the columns that stand for set-returning calls of a select list."""


@dataclass(frozen=True, slots=True)
class SetCall:
    """A bound call: its value is the ARRAY of rows, whose columns have these names."""

    name: str
    call: Expr
    columns: tuple[str, ...] = ()
    unpacks: bool = False

    @property
    def element(self) -> SqlType:
        """Return the type of one row: that of its one column, or the STRUCT of them."""
        assert self.call.type.element is not None
        return self.call.type.element

    @property
    def value(self) -> SqlType:
        """Return the type of a row as one value."""
        one = self.unpacks and len(self.columns) == 1
        return self.element.fields[0].type if one else self.element


@dataclass
class SetCollector:
    """Gathers the distinct set-returning calls of a select list; each becomes a column."""

    calls: list[tuple[str, SetCall]] = field(default_factory=list)

    def add(self, call: SetCall) -> ColumnRef:
        """Return the column that holds one of the call's rows."""
        for name, known in self.calls:
            if known == call:
                return ColumnRef(call.value, name, span=call.call.span)
        name = f"{SET_COLUMN}{len(self.calls)}"
        self.calls.append((name, call))
        return ColumnRef(call.value, name, span=call.call.span)

    @property
    def names(self) -> frozenset[str]:
        """Return the columns that stand for calls."""
        return frozenset(name for name, _ in self.calls)


@dataclass
class AggregateCollector:
    """Gathers the distinct aggregate calls of a query; each becomes a column of that name."""

    calls: list[tuple[str, AggCall]] = field(default_factory=list)
    prefix: str = "__agg"

    def add(self, call: AggCall) -> ColumnRef:
        """Return the column that holds the call's value."""
        for name, known in self.calls:
            if known == call:
                return ColumnRef(call.type, name, span=call.span)
        name = f"{self.prefix}{len(self.calls)}"
        self.calls.append((name, call))
        return ColumnRef(call.type, name, span=call.span)


@dataclass(frozen=True, slots=True)
class WindowSite:
    """A window call with the rows it looks at; `order` is (expression, descending, nulls first)."""

    call: WindowCall
    partition: tuple[Expr, ...]
    order: tuple[tuple[Expr, bool, bool], ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Return all that the call and its window read."""
        condition = () if self.call.filter is None else (self.call.filter,)
        return (*self.call.args, *condition, *self.partition, *(e for e, _, _ in self.order))


OVER_COLUMN = "__over"
"""What the columns of window calls are called, followed by a number."""


SUBQUERY_COLUMN = "__subquery"
"""What the columns of subqueries are called, followed by a number."""


@dataclass
class WindowCollector:
    """Gathers the distinct window calls of a query; each becomes a column of that name.

    `named` holds the WINDOW clause's definitions.
    """

    sites: list[tuple[str, WindowSite]] = field(default_factory=list)
    named: dict[str, exp.Window] = field(default_factory=dict)
    prefix: str = OVER_COLUMN

    def add(self, site: WindowSite) -> ColumnRef:
        """Return the column that holds the call's value."""
        for name, known in self.sites:
            if known == site:
                return ColumnRef(site.call.type, name, span=site.span)
        name = f"{self.prefix}{len(self.sites)}"
        self.sites.append((name, site))
        return ColumnRef(site.call.type, name, span=site.span)
