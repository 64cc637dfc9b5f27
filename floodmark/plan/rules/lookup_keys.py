"""Moves equalities of WHERE into the key of the lookup join under it.

`JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON d.k = o.k WHERE d.lang = 'de'` asks for one row of a
table with the key `(k, lang)`, as it does with both in ON. The rows that a left lookup pads have
NULL there, and go: it becomes an inner one. What is kept elsewhere is asked as ON says, as few
types can be asked for.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import conjuncts
from floodmark.plan.expr.expressions import BoolOp, Call, ColumnRef, Expr, Literal
from floodmark.plan.nodes.columns import with_column
from floodmark.scalar.types import BOOLEAN


def lookup_keys(node: n.Node) -> n.Node:
    """Return the plan with what filters compare looked-up columns with in the lookups' keys."""
    node = node.with_inputs([lookup_keys(child) for child in node.inputs])
    if isinstance(node, n.Filter) and isinstance(node.input, n.LookupJoin):
        return _narrow_lookup(node, node.input)
    return node


def _narrow_lookup(outer: n.Filter, lookup: n.LookupJoin) -> n.Node:
    # A pair that ON cannot judge is put aside, whatever WHERE says of it.
    if lookup.external is not None or lookup.residual is not None:
        return outer
    node: n.Node = lookup
    rest: list[Expr] = []
    left, equi = lookup.left, list(lookup.equi)
    for part in conjuncts(outer.predicate):
        pair = _pair(part, lookup)
        if pair is None:
            rest.append(part)
            continue
        left, name = with_column(left, pair[0], avoid=frozenset(lookup.right.names))
        equi.append((name, pair[1].name))
    if len(rest) < len(conjuncts(outer.predicate)):
        node = replace(lookup, left=left, kind=n.JoinKind.INNER, equi=tuple(equi))
    if not rest:
        return node
    predicate = rest[0] if len(rest) == 1 else BoolOp(BOOLEAN, "and", tuple(rest))
    return replace(outer, input=node, predicate=predicate)


def _pair(expr: Expr, lookup: n.LookupJoin) -> tuple[Expr, ColumnRef] | None:
    """Return a constant or a left column, and the right column that equals it; else None."""
    if not (isinstance(expr, Call) and expr.function == "=" and len(expr.args) == 2):
        return None
    for value, column in (expr.args, expr.args[::-1]):
        if not isinstance(column, ColumnRef) or column.name not in lookup.right.names:
            continue
        if value.type == column.type and _is_known_before(value, lookup):
            return value, column
    return None


def _is_known_before(value: Expr, lookup: n.LookupJoin) -> bool:
    if isinstance(value, ColumnRef):
        return value.name in lookup.left.names
    return isinstance(value, Literal)
