"""Expressions of SQL text to typed expressions: names resolved, types checked, casts inserted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.expr.expressions import ColumnRef, Expr
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import Schema

if TYPE_CHECKING:
    pass


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
