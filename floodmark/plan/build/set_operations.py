"""UNION, INTERSECT and EXCEPT: their sides brought to the same columns."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.assignment import cast_to
from floodmark.plan.bind.coercion import with_digits
from floodmark.plan.expr.expressions import ColumnRef, Expr
from floodmark.scalar.promotion import common_type
from floodmark.scalar.types import Field, SqlType

FLAT_FROM = 32
"""How many branches a chain of UNION ALL has that is one node; a shorter one nests, pair by pair.

A node for each pair makes the plan as deep as the chain is long.
"""


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


def _met(own: Sequence[Expr], name: str, span: Span | None) -> SqlType:
    """Return the type of a column of a set operation; E0214 where the sides have no common one."""
    types = tuple(e.type for e in with_digits(list(own)))
    found = common_type(types)
    if found is None:
        a = own[0].type
        b = next((e.type for e in own[1:] if common_type((a, e.type)) is None), own[-1].type)
        raise BindError(
            "E0214",
            f'column "{name}" is {a} on one side and {b} on the other',
            span=span,
            hint="cast one of them",
        )
    return found


def _cast_all(node: n.Node, fields: list[Field], names: list[str], types: list[SqlType]) -> n.Node:
    columns = tuple(
        (name, cast_to(ColumnRef(f.type, f.name), t))
        for name, f, t in zip(names, fields, types, strict=True)
    )
    return n.Project(node, columns)
