"""UNION, INTERSECT and EXCEPT: their sides brought to the same columns."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.assignment import convert
from floodmark.plan.bind.coercion import with_digits
from floodmark.plan.build.outputs import ColumnTypes
from floodmark.plan.build.protocol import QueryBuilder
from floodmark.plan.expr.expressions import ColumnRef, Expr
from floodmark.scalar.promotion import common_type
from floodmark.scalar.types import VARCHAR, Field, SqlType

FLAT_FROM = 32
"""How many branches a chain of UNION ALL has that is one node; a shorter one nests, pair by pair.

A node for each pair makes the plan as deep as the chain is long.
"""


def set_operation(builder: QueryBuilder, query: exp.SetOperation) -> n.Node:
    """Return the rows of a set operation."""
    everything = not query.args.get("distinct", True)
    branches = _branches(builder, branches_of(query), builder.span(query))
    if isinstance(query, exp.Union):
        union = n.UnionAll(branches, "__branch", span=builder.span(query))
        if everything:
            return union
        names = tuple(f.name for f in union.schema if not is_hidden(f.name))
        return n.Aggregate(union, names, (), span=builder.span(query))
    left, right = branches
    kind = n.SetKind.INTERSECT if isinstance(query, exp.Intersect) else n.SetKind.EXCEPT
    return n.SetOperation(left, right, kind, everything, span=builder.span(query))


def _branches(
    builder: QueryBuilder, queries: Sequence[exp.Expression], span: Span | None
) -> tuple[n.Node, ...]:
    """Return queries with the names of the first and common types, without hidden columns.

    One whose bare texts and NULLs take their types from the others is built once more.
    """
    types_of = [ColumnTypes() for _ in queries]
    nodes = [builder.with_types(t).query(q) for t, q in zip(types_of, queries, strict=True)]
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
        types.append(_common_type(own, column[0].name, span))
    names = [f.name for f in fields[0]]
    for i, given in enumerate(types_of):
        if any(types[column] != VARCHAR for column in given.untyped):
            nodes[i] = builder.with_types(ColumnTypes(tuple(types))).query(queries[i])
            fields[i] = [f for f in nodes[i].schema if not is_hidden(f.name)]
    return tuple(_cast_columns(*s, names, types) for s in zip(nodes, fields, strict=True))


def branches_of(query: exp.SetOperation) -> list[exp.Expression]:
    """Return what a set operation combines: two queries, or all of a long chain of UNION ALL."""
    branches, left = [query.expression], query.this
    while _continues(query, left):
        branches.append(left.expression)
        left = left.this
    branches.append(left)
    return branches[::-1] if len(branches) >= FLAT_FROM else [query.this, query.expression]


def _continues(query: exp.SetOperation, left: exp.Expression) -> bool:
    """Tell whether the left side of a UNION ALL is one without clauses of its own."""
    own = ("order", "limit", "offset", "with_", "with")
    both = all(isinstance(q, exp.Union) and not q.args.get("distinct", True) for q in (query, left))
    return both and not any(left.args.get(clause) for clause in own)


def _common_type(own: Sequence[Expr], name: str, span: Span | None) -> SqlType:
    """Return the type of a column of a set operation; E0214 where the sides have no common one."""
    types = tuple(e.type for e in with_digits(list(own)))
    type_ = common_type(types)
    if type_ is None:
        a = own[0].type
        b = next((e.type for e in own[1:] if common_type((a, e.type)) is None), own[-1].type)
        raise BindError(
            "E0214",
            f'column "{name}" is {a} on one side and {b} on the other',
            span=span,
            hint="cast one of them",
        )
    return type_


def _cast_columns(
    node: n.Node, fields: list[Field], names: list[str], types: list[SqlType]
) -> n.Node:
    columns = tuple(
        (name, convert(ColumnRef(f.type, f.name), t))
        for name, f, t in zip(names, fields, types, strict=True)
    )
    return n.Project(node, columns)
