"""The protocol of the binder, for modules that bind one form of expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from floodmark.errors import Span
from floodmark.plan.bind.collectors import AggregateCollector, SetCollector, WindowCollector
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import Scope
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.types import SqlType


class ExpressionBinder(Protocol):
    """Binds the nodes of one expression; calls without a collector are refused."""

    @property
    def context(self) -> BindContext:
        """Return the context that binding needs besides the scope."""

    @property
    def aggregates(self) -> AggregateCollector | None:
        """Return the collector of aggregate calls."""

    @property
    def windows(self) -> WindowCollector | None:
        """Return the collector of window calls."""

    @property
    def sets(self) -> SetCollector | None:
        """Return the collector of set-returning calls."""

    def span(self, node: exp.Expression) -> Span | None:
        """Return where a node stands."""

    def bind(self, node: exp.Expression) -> Expr:
        """Return the typed form of any node."""

    def bind_with_type(self, node: exp.Expression, target: SqlType) -> Expr:
        """Bind a value that is stored or cast as a type."""

    def together(self, nodes: Sequence[exp.Expression]) -> list[Expr]:
        """Bind the operands of a call or comparison together."""

    def call(self, name: str, node: exp.Expression, arguments: list[exp.Expression]) -> Expr:
        """Bind a call of a registered scalar function."""

    def condition(self, node: exp.Expression, what: str) -> Expr:
        """Bind a condition; an error names it `what`."""

    def subquery(self, node: exp.Expression) -> Expr:
        """Bind a subquery."""

    def with_scope(self, scope: Scope, context: BindContext) -> ExpressionBinder:
        """Return a binder of another scope, without collectors."""

    def without_calls(self) -> ExpressionBinder:
        """Return a binder without collectors, for arguments of aggregates."""

    def without_windows(self) -> ExpressionBinder:
        """Return a binder with aggregates alone, for `rank() OVER (ORDER BY sum(x))`."""

    def without_sets(self) -> ExpressionBinder:
        """Return a binder that refuses set-returning calls, for their own arguments."""
