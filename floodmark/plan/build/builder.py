"""A query to a logical plan: names resolved, expressions typed, clauses turned into nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from floodmark.catalog.catalog import unknown_object
from floodmark.catalog.objects import Relation
from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.context import BindContext, Positions
from floodmark.plan.bind.scope import OuterScope, QueryScope
from floodmark.plan.build.aliases import rename_columns
from floodmark.plan.build.ordering import order_rows
from floodmark.plan.build.outputs import ColumnTypes
from floodmark.plan.build.protocol import BoundNode
from floodmark.plan.build.relations import build_from_clause
from floodmark.plan.build.select import select_rows
from floodmark.plan.build.set_operations import set_operation
from floodmark.plan.build.values import build_values
from floodmark.plan.build.where import filter_rows
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.nodes.size import check_size
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import SqlType
from floodmark.sql.nodes import ChangelogOf
from floodmark.sql.spans import span_of


@dataclass(frozen=True)
class Builder:
    """Builds the plan of one statement; `ctes` are the plans of the WITH names in reach.

    `outer` are the columns around a subquery, `subquery` binds one that stands in an expression,
    `given` says what the query's columns get their types from, `numbers` name what subqueries give.
    """

    relations: Mapping[str, Relation]
    source: Span | None
    ctes: Mapping[str, n.Node] = field(default_factory=dict)
    views: Mapping[str, n.Node] = field(default_factory=dict)
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    positions: Positions = field(default_factory=Positions)
    outer: OuterScope | None = None
    subquery: Callable[[exp.Expression], Expr] | None = None
    given: ColumnTypes | None = None
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def context(self) -> BindContext:
        """Return what the expression binder needs to know."""
        return BindContext(self.source, self.subquery, self.functions, self.positions)

    def span(self, node: exp.Expression | None) -> Span | None:
        """Return the place of an expression."""
        return None if node is None else span_of(node, self.source)

    def refuse(
        self, code: str, message: str, node: exp.Expression, hint: str | None = None
    ) -> NotSupported:
        """Return the refusal of something that is understood."""
        return NotSupported(code, message, span=self.span(node), hint=hint)

    def relation(self, name: str, span: Span | None) -> Relation:
        """Return a relation of the catalog; an unknown one is E0201."""
        relation = self.relations.get(name)
        if relation is None:
            raise unknown_object(name, self.relations, span)
        return relation

    def query(self, query: exp.Expression) -> n.Node:
        """Return the plan of a query: visible columns first, named as the query names them."""
        inner = replace(self.with_ctes(query), subquery=None)
        match query:
            case exp.Subquery():
                return order_rows(inner, inner.query(query.this), query)
            case exp.Select():
                inner = replace(inner, given=None)
                return select_rows(inner, query, build_from_clause(inner, query), self.given)
            case exp.SetOperation():
                return order_rows(inner, set_operation(inner, query), query)
            case exp.Values():
                rows = build_values(inner, query, self.given or ColumnTypes())
                return order_rows(inner, rows, query)
            case ChangelogOf():
                raise self.refuse(
                    "E0336",
                    "reading a changelog as a relation is not available yet",
                    query,
                    hint="read the rows of t__changes in a query of their own, or fm.changes('t')",
                )
            case _:
                raise self.refuse("E0337", "this form of query is not available yet", query)

    def filter(self, bound: BoundNode, where: exp.Expression) -> tuple[BoundNode, list[Expr]]:
        """Apply a WHERE clause; return the conditions that read columns around the query, too."""
        return filter_rows(self, bound, where)

    def with_types(self, given: ColumnTypes) -> Builder:
        """Return the builder of a query whose columns have their types from elsewhere."""
        return replace(self, given=given)

    def with_subqueries(self, bind: Callable[[exp.Expression], Expr] | None) -> Builder:
        """Return the builder with what binds a subquery in an expression; None refuses them."""
        return replace(self, subquery=bind)

    def inside(self, scope: QueryScope) -> Builder:
        """Return the builder of a subquery; `scope` has the columns around it."""
        return replace(self, outer=OuterScope(scope), subquery=None)

    def with_ctes(self, query: exp.Expression) -> Builder:
        """Return the builder with the WITH names of a query in reach.

        Each WITH query is planned once, where it stands: it sees the WITH queries before it. Names
        of the place that reads it do not change what it reads. E0133 where they grow too large,
        E0149 for a name that two of them have.
        """
        clause = query.args.get("with_") or query.args.get("with")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise self.refuse(
                "E0338",
                "WITH RECURSIVE is not available",
                clause,
                hint="leave RECURSIVE out if no query reads itself; otherwise write one join per "
                "level, and UNION ALL the levels",
            )
        within = replace(self, given=None, subquery=None)
        for i, cte in enumerate(clause.expressions):
            if cte.alias in (other.alias for other in clause.expressions[:i]):
                text = f"the name {cte.alias} stands for two queries of a WITH"
                raise BindError("E0149", text, span=self.span(cte), hint="rename one of them")
            within = replace(within, ctes={**within.ctes, cte.alias: within._cte(cte)})
        return replace(self, ctes=within.ctes)

    def _cte(self, cte: exp.CTE) -> n.Node:
        names = tuple(c.name for c in cte.args["alias"].columns)
        node = self.query(cte.this)
        check_size(node, self.span(cte))
        return rename_columns(node, names, self.span(cte)) if names else node


def build_query(
    query: exp.Expression,
    relations: Mapping[str, Relation],
    source: Span | None,
    *,
    views: Mapping[str, n.Node] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    given: tuple[SqlType, ...] = (),
) -> n.Node:
    """Return the logical plan of a query over the relations of a catalog.

    `views` are the plans of plain views, which replace their names. `functions` are those of users.
    `given` are the types of the columns that take the rows: bare texts and NULLs get them, and so
    does each row of VALUES. The visible columns come first, in order; hidden ones (`__…`) may
    follow. Raises `BindError` and `NotSupported` with the place in the text.
    """
    builder = Builder(
        relations, source, views=views or {}, functions=functions or {}, given=ColumnTypes(given)
    )
    node = builder.query(query)
    check_size(node, builder.span(query) or source)
    return node
