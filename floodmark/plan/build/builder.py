"""A query to a logical plan: names resolved, expressions typed, clauses turned into nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from floodmark.catalog.objects import Relation
from floodmark.changelog import is_hidden
from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.assignment import assigned, is_default
from floodmark.plan.bind.binder import Binder
from floodmark.plan.bind.coercion import with_digits
from floodmark.plan.bind.constant_rows import typed_rows
from floodmark.plan.bind.context import BindContext, Positions
from floodmark.plan.bind.outputs import ColumnTypes
from floodmark.plan.bind.scope import OuterScope, QueryScope
from floodmark.plan.build.aliases import rename_columns
from floodmark.plan.build.ordering import ordered
from floodmark.plan.build.relations import build_from
from floodmark.plan.build.select import select_rows
from floodmark.plan.build.set_operations import _cast_all, _met, branches_of
from floodmark.plan.expr.expressions import ColumnRef, Expr, Literal
from floodmark.plan.nodes.size import check_size
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.promotion import common_type
from floodmark.scalar.types import BIGINT, VARCHAR, Field, Kind, SqlType
from floodmark.sql.nodes import ChangelogOf, ConstantRows
from floodmark.sql.spans import span_of


@dataclass
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
        found = self.relations.get(name)
        if found is None:
            from floodmark.catalog.catalog import unknown_object

            raise unknown_object(name, self.relations, span)
        return found

    def query(self, query: exp.Expression) -> n.Node:
        """Return the plan of a query: visible columns first, named as the query names them."""
        inner = replace(self.with_ctes(query), subquery=None)
        match query:
            case exp.Subquery():
                return ordered(inner, inner.query(query.this), query)
            case exp.Select():
                inner.given = None
                return select_rows(inner, query, build_from(inner, query), self.given)
            case exp.SetOperation():
                return ordered(inner, inner._set_operation(query), query)
            case exp.Values():
                return ordered(inner, inner._values(query), query)
            case ChangelogOf():
                raise self.refuse(
                    "E0336",
                    "reading a changelog as a relation is not available yet",
                    query,
                    hint="read the rows of t__changes in a query of their own, or fm.changes('t')",
                )
            case _:
                raise self.refuse("E0337", "this form of query is not available yet", query)

    def with_ctes(self, query: exp.Expression) -> Builder:
        """Return the builder with the WITH names of a query in reach.

        Each is planned once, where it stands: it sees those before it, and what it reads is not
        hidden by names of the place where it is read. E0133 where they grow too large, E0149 for a
        name that stands for two.
        """
        clause = query.args.get("with_") or query.args.get("with")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise self.refuse(
                "E0338",
                "WITH RECURSIVE is not available",
                clause,
                hint="leave RECURSIVE out where nothing reads itself; else join a level at a time, "
                "and UNION ALL the levels",
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

    def _set_operation(self, query: exp.SetOperation) -> n.Node:
        everything = not query.args.get("distinct", True)
        branches = self._branches(branches_of(query), self.span(query))
        if isinstance(query, exp.Union):
            union = n.UnionAll(branches, "__branch", span=self.span(query))
            if everything:
                return union
            names = tuple(f.name for f in union.schema if not is_hidden(f.name))
            return n.Aggregate(union, names, (), span=self.span(query))
        left, right = branches
        kind = n.SetKind.INTERSECT if isinstance(query, exp.Intersect) else n.SetKind.EXCEPT
        return n.SetOperation(left, right, kind, everything, span=self.span(query))

    def _branches(self, queries: Sequence[exp.Expression], span: Span | None) -> tuple[n.Node, ...]:
        """Return queries with the names of the first and common types, without hidden columns.

        One whose bare texts and NULLs take their types from the others is built once more.
        """
        types_of = [ColumnTypes() for _ in queries]
        nodes = [replace(self, given=t).query(q) for t, q in zip(types_of, queries, strict=True)]
        fields = [[f for f in node.schema if not is_hidden(f.name)] for node in nodes]
        for other in fields[1:]:
            if len(fields[0]) != len(other):
                raise BindError(
                    "E0213",
                    f"the two sides have {len(fields[0])} and {len(other)} columns",
                    span=span,
                    hint="select the same number of columns on both sides",
                )
        types: list[SqlType] = []
        for i, column in enumerate(zip(*fields, strict=True)):
            own = [
                t.untyped.get(i, ColumnRef(f.type, f.name))
                for t, f in zip(types_of, column, strict=True)
            ]
            types.append(_met(own, column[0].name, span))
        names = [f.name for f in fields[0]]
        for i, given in enumerate(types_of):
            if any(types[column] != VARCHAR for column in given.untyped):
                nodes[i] = replace(self, given=ColumnTypes(tuple(types))).query(queries[i])
                fields[i] = [f for f in nodes[i].schema if not is_hidden(f.name)]
        return tuple(_cast_all(*s, names, types) for s in zip(nodes, fields, strict=True))

    def _values(self, query: exp.Values) -> n.Node:
        """Return rows of values, each cast for itself where the types of the columns are known."""
        given, binder = self.given or ColumnTypes(), Binder(QueryScope(), self.context)
        first = query.expressions[0]
        if isinstance(first, ConstantRows):
            rows = list(typed_rows(first, given, binder))
        else:
            rows = [
                tuple(self._value(e, i, given, binder) for i, e in enumerate(_row(item)))
                for item in query.expressions
            ]
        if len({len(row) for row in rows}) != 1:
            raise BindError(
                "E0215",
                "the rows of VALUES differ in length",
                span=self.span(query),
                hint="write the same number of values in each row",
            )
        if len(rows[0]) <= len(given.types):
            return self._typed(query, rows, given.types[: len(rows[0])])
        types = []
        rows = list(zip(*(with_digits(c) for c in zip(*rows, strict=True)), strict=True))
        for i, column in enumerate(zip(*rows, strict=True)):
            found = common_type(tuple(e.type for e in column))
            if found is None:
                raise BindError(
                    "E0214",
                    f"column {i + 1} of VALUES mixes types that have no common one",
                    span=self.span(query),
                    hint="cast the values",
                )
            if all(isinstance(e, Literal) and e.type.kind is Kind.UNKNOWN for e in column):
                given.untyped[i] = column[0]
            types.append(found)
        return self._typed(query, rows, types)

    def _value(self, e: exp.Expression, i: int, given: ColumnTypes, binder: Binder) -> Expr:
        if is_default(e) and i < len(given.defaults):
            return given.defaults[i]
        return binder.bind_as(e, given.types[i]) if i < len(given.types) else binder.bind(e)

    def _typed(
        self, query: exp.Values, rows: list[tuple[Expr, ...]], types: Sequence[SqlType]
    ) -> n.Node:
        ordinal = Field("__ordinal", BIGINT, nullable=False)
        schema = (*(Field(f"column{i + 1}", t) for i, t in enumerate(types)), ordinal)
        span = self.span(query)
        typed = tuple(
            (
                *(assigned(e, t, span=span) for e, t in zip(row, types, strict=True)),
                Literal(BIGINT, i),
            )
            for i, row in enumerate(rows)
        )
        return n.Values(typed, schema, span=span)


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

    `views` are the plans of plain views, put in the place of their names, `functions` those that
    users made, `given` the types of the columns that take the rows: of bare texts and NULLs, and of
    each of VALUES for itself. The visible columns come first, in order; hidden ones (`__…`) may
    follow. Raises `BindError` and `NotSupported` with the place in the text.
    """
    builder = Builder(
        relations, source, views=views or {}, functions=functions or {}, given=ColumnTypes(given)
    )
    node = builder.query(query)
    check_size(node, builder.span(query) or source)
    return node


def _row(item: exp.Expression) -> list[exp.Expression]:
    return list(item.expressions) if isinstance(item, exp.Tuple) else [item]
