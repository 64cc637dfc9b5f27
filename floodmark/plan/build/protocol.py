"""The protocol of the query builder, for modules that build one clause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from floodmark.catalog.objects import Relation
from floodmark.errors import NotSupported, Span
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import OuterScope, QueryScope
from floodmark.plan.build.outputs import ColumnTypes
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class BoundNode:
    """A node and the names by which the query reaches its columns."""

    node: Node
    scope: QueryScope


class QueryBuilder(Protocol):
    """Builds the plans of a statement's queries."""

    @property
    def ctes(self) -> Mapping[str, Node]:
        """Return the plans of the WITH names in reach."""

    @property
    def views(self) -> Mapping[str, Node]:
        """Return the plans of plain views."""

    @property
    def outer(self) -> OuterScope | None:
        """Return the columns around a subquery."""

    @property
    def numbers(self) -> Iterator[int]:
        """Return the counter that numbers the columns of subqueries."""

    @property
    def source(self) -> Span | None:
        """Return any span of the statement."""

    @property
    def context(self) -> BindContext:
        """Return what the expression binder needs to know."""

    def span(self, node: exp.Expression | None) -> Span | None:
        """Return the place of an expression."""

    def refuse(
        self, code: str, message: str, node: exp.Expression, hint: str | None = None
    ) -> NotSupported:
        """Return the refusal of something that is understood."""

    def relation(self, name: str, span: Span | None) -> Relation:
        """Return a relation of the catalog."""

    def query(self, query: exp.Expression) -> Node:
        """Return the plan of a query."""

    def filter(self, bound: BoundNode, where: exp.Expression) -> tuple[BoundNode, list[Expr]]:
        """Apply a WHERE clause; return the conditions that read columns around the query, too."""

    def with_ctes(self, query: exp.Expression) -> QueryBuilder:
        """Return the builder with the WITH names of a query in reach."""

    def with_types(self, given: ColumnTypes) -> QueryBuilder:
        """Return the builder of a query whose columns have their types from elsewhere."""

    def with_subqueries(self, bind: Callable[[exp.Expression], Expr] | None) -> QueryBuilder:
        """Return the builder with what binds a subquery in an expression; None refuses them."""

    def inside(self, scope: QueryScope) -> QueryBuilder:
        """Return the builder of a subquery; `scope` has the columns around it."""
