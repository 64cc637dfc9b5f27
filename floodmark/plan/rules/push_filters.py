"""Moves simple conditions of a filter into and below the join under it.

`FROM a, b WHERE a.k = b.k AND a.x > 3` becomes an equi join over a filtered `a`: a cross join
could not be kept incremental by key. Only conditions that cannot fail move, so that no row is put
aside for an error which its join would have spared it.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.catalog.types import BOOLEAN
from floodmark.plan import nodes as n
from floodmark.plan.expressions import BoolOp, Call, ColumnRef, Expr, Literal, columns_of

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def push_filters(node: n.Node) -> n.Node:
    """Return the plan with the conditions of filters as far down as they may stand."""
    node = node.with_inputs([push_filters(child) for child in node.inputs])
    if isinstance(node, n.Filter) and isinstance(node.input, n.Join):
        return _into_join(node, node.input)
    return node


def _into_join(outer: n.Filter, join: n.Join) -> n.Node:
    if join.kind.pads_left:
        return outer
    inner = join.kind is n.JoinKind.INNER
    left_names, right_names = frozenset(join.left.names), frozenset(join.right.names)
    to_left: list[Expr] = []
    to_right: list[Expr] = []
    equi: list[tuple[str, str]] = []
    rest: list[Expr] = []
    for part in _conjuncts(outer.predicate):
        pair = _equal_columns(part, left_names, right_names)
        if not _simple(part):
            rest.append(part)
        elif columns_of(part) <= left_names:
            to_left.append(part)
        elif inner and columns_of(part) <= right_names:
            to_right.append(part)
        elif inner and pair is not None:
            equi.append(pair)
        else:
            rest.append(part)
    moved = replace(
        join,
        left=push_filters(_filtered(join.left, to_left)),
        right=push_filters(_filtered(join.right, to_right)),
        equi=(*join.equi, *equi),
    )
    return _filtered(moved, rest)


def _filtered(node: n.Node, parts: list[Expr]) -> n.Node:
    if not parts:
        return node
    predicate = parts[0] if len(parts) == 1 else BoolOp(BOOLEAN, "and", tuple(parts))
    return n.Filter(node, predicate)


def _conjuncts(expr: Expr) -> tuple[Expr, ...]:
    if isinstance(expr, BoolOp) and expr.op == "and":
        return tuple(c for arg in expr.args for c in _conjuncts(arg))
    return (expr,)


def _simple(expr: Expr) -> bool:
    return (
        isinstance(expr, Call)
        and expr.function in _COMPARISONS
        and all(isinstance(arg, ColumnRef | Literal) for arg in expr.args)
    )


def _equal_columns(
    expr: Expr, left: frozenset[str], right: frozenset[str]
) -> tuple[str, str] | None:
    match expr:
        case Call(function="=", args=(ColumnRef(name=a), ColumnRef(name=b))):
            if a in left and b in right:
                return a, b
            if a in right and b in left:
                return b, a
    return None
