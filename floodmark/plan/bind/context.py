"""The shared context of a statement's expressions while they are bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from floodmark.errors import Span
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.user import UserFunction


@dataclass(slots=True)
class Positions:
    """Numbers the volatile calls of a statement; a node that is bound twice keeps its number."""

    _numbers: dict[int, tuple[int, exp.Expression]] = field(default_factory=dict)
    _bodies: dict[int, tuple[exp.Expression, exp.Expression]] = field(default_factory=dict)

    def number_of(self, node: exp.Expression) -> int:
        """Return the number of a node."""
        # The node is kept as well, so that no other takes its identity.
        return self._numbers.setdefault(id(node), (len(self._numbers), node))[0]

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
