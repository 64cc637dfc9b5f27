"""Expressions of SQL text to typed expressions: names resolved, types checked, casts inserted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from floodmark.catalog.functions.user import UserFunction
from floodmark.catalog.promotion import common_type
from floodmark.catalog.types import Schema, SqlType
from floodmark.errors import BindError, Span
from floodmark.plan.coerce import bind_type
from floodmark.plan.expressions import AggCall, ColumnRef, Expr, Literal
from floodmark.plan.nodes import Interval, WindowCall

if TYPE_CHECKING:
    from floodmark.plan.set_calls import SetCollector

__all__ = [
    "AggregateCollector",
    "BindContext",
    "Positions",
    "SchemaScope",
    "Scope",
    "WindowCollector",
    "WindowSite",
    "bind_interval",
    "bind_scalar",
    "bind_type",
    "common_type",
]


class Scope(Protocol):
    """The columns that an expression may name."""

    def resolve(self, table: str | None, column: str, span: Span | None) -> Expr:
        """Return the column, or raise a `BindError` for an unknown or ambiguous name."""


@dataclass(frozen=True, slots=True)
class SchemaScope:
    """The columns of one relation; `alias` is the table name that may stand before them."""

    schema: Schema
    alias: str | None = None

    def resolve(self, table: str | None, column: str, span: Span | None) -> ColumnRef:
        """Return the column; an unknown one is E0261, a foreign table name E0262."""
        if table is not None and table != self.alias:
            raise BindError(
                "E0262",
                f'"{table}" is not a relation here',
                span=span,
                hint=self.alias and f"the columns are those of {self.alias}",
            )
        for known in self.schema:
            if known.name == column:
                return ColumnRef(known.type, known.name, span=span)
        names = [f.name for f in self.schema]
        near = get_close_matches(column, names, n=3) or names[:12]
        raise BindError(
            "E0261",
            f'column "{column}" is not known here',
            span=span,
            hint="there is " + ", ".join(near),
        )


@dataclass(slots=True)
class Positions:
    """Numbers the volatile calls of a statement; a node that is bound twice keeps its number."""

    _seen: dict[int, tuple[int, exp.Expression]] = field(default_factory=dict)
    _bodies: dict[int, tuple[exp.Expression, exp.Expression]] = field(default_factory=dict)

    def of(self, node: exp.Expression) -> int:
        """Return the number of a node."""
        # The node is kept as well, so that no other takes its identity.
        return self._seen.setdefault(id(node), (len(self._seen), node))[0]

    def body(self, node: exp.Expression, parse: Callable[[], exp.Expression]) -> exp.Expression:
        """Return the body that stands in the place of a call, the same each time."""
        if id(node) not in self._bodies:
            self._bodies[id(node)] = (parse(), node)
        return self._bodies[id(node)][0]


@dataclass(frozen=True, slots=True)
class BindContext:
    """What binding needs besides the scope.

    `source` is any span of the statement: it gives text and file. `subquery` binds a subquery
    node (Subquery, Exists, or In with a query) to an expression; without it they are refused.
    `functions` are those that users made, by name; `positions` is shared by all expressions of a
    statement.
    """

    source: Span | None = None
    subquery: Callable[[exp.Expression], Expr] | None = None
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    positions: Positions = field(default_factory=Positions, compare=False, repr=False)


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


def bind_scalar(
    node: exp.Expression,
    scope: Scope,
    context: BindContext,
    *,
    aggregates: AggregateCollector | None = None,
    windows: WindowCollector | None = None,
    sets: SetCollector | None = None,
    target: SqlType | None = None,
) -> Expr:
    """Return the typed expression; `target` is what it is stored as, if that is known.

    A string literal or NULL that nothing gave a type stays a `Literal` of type UNKNOWN. Without
    a collector, aggregate, window or set-returning calls are refused.

    Raises:
        BindError: unknown names, types that do not fit, literals that are not values of their type.
        NotSupported: what is understood and not available.
    """
    from floodmark.plan.binder import Binder

    binder = Binder(scope, context, aggregates, windows, sets)
    return binder.bind(node) if target is None else binder.bind_as(node, target)


def bind_interval(node: exp.Expression, context: BindContext) -> Interval:
    """Return the constant (months, days, microseconds) of an interval expression."""
    from floodmark.catalog.types import INTERVAL
    from floodmark.plan.coerce import coerce
    from floodmark.sql.spans import span_of

    bound = coerce(bind_scalar(node, SchemaScope(()), context), INTERVAL)
    if not isinstance(bound, Literal) or bound.value is None:
        raise BindError(
            "E0263",
            "this must be a constant interval",
            span=span_of(node, context.source),
            hint="such as INTERVAL '5 minutes'",
        )
    months, days, micros = bound.value
    return months, days, micros
