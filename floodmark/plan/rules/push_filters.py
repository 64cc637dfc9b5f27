"""Moves conditions of a filter below a projection, and into and below the join under it.

`SELECT q FROM (SELECT x, 10 / x AS q FROM t) s WHERE x > 0` divides by no zero: what WHERE drops is
not computed. `FROM a, b WHERE a.k = b.k AND a.x > 3` becomes an equi join over a filtered `a`: a
cross join could not be kept incremental by key. Only conditions that cannot fail move below, so
that no row is put aside for an error which its join would have spared it. Beside one that can fail,
one that may be NULL lets the row pass below, and is asked once more above: NULL AND an error is the
error. Equal columns that join are asked first all the same. What an inner join's pairs must meet is
a condition of that join: it may bound how long a row can still find a partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.conjunctions import all_of, conjuncts, factored, is_movable
from floodmark.plan.determinism import is_deterministic
from floodmark.plan.expressions import Call, ColumnRef, Expr, columns_of, transform
from floodmark.plan.interval_join import bounds_pairs
from floodmark.plan.nullability import asked_first


def push_filters(node: n.Node) -> n.Node:
    """Return the plan with the conditions of filters as far down as they may stand."""
    node = node.with_inputs([push_filters(child) for child in node.inputs])
    if isinstance(node, n.Filter) and isinstance(node.input, n.Join):
        return _into_join(node, node.input)
    if isinstance(node, n.Filter) and isinstance(node.input, n.Project):
        return _below_projection(node, node.input)
    return node


def _below_projection(outer: n.Filter, project: n.Project) -> n.Node:
    if isinstance(_below(project), n.OverWindow):
        # A bound of a row number stays where it is recognised as a top-N.
        return outer
    passed = {c: e for c, e in project.columns if isinstance(e, ColumnRef)}

    def moves(part: Expr) -> bool:
        return is_movable(part) and columns_of(part) <= set(passed)

    def renamed(e: Expr) -> Expr:
        return passed[e.name] if isinstance(e, ColumnRef) else e

    first, then = asked_first(conjuncts(outer.predicate), moves, project)
    if not first:
        return outer
    below = _filtered(project.input, [transform(part, renamed) for part in first], outer)
    return _filtered(replace(project, input=push_filters(below)), then, outer)


def _below(node: n.Node) -> n.Node:
    while isinstance(node, n.Project):
        node = node.input
    return node


def _into_join(outer: n.Filter, join: n.Join) -> n.Node:
    if join.kind.pads_left:
        return outer
    inner = join.kind is n.JoinKind.INNER
    left, right = frozenset(join.left.names), frozenset(join.right.names)

    def moves(part: Expr) -> bool:
        read = columns_of(part)
        return is_movable(part) and bool(read) and (read <= left or (inner and read <= right))

    equi: list[tuple[str, str]] = []
    other: list[Expr] = []
    for part in factored(outer.predicate):
        pair = _equal_columns(part, left, right) if inner else None
        if pair is None:
            other.append(part)
        else:
            equi.append(pair)
    first, rest = asked_first(other, moves, join)
    met: Sequence[Expr] = ()
    if inner and any(_pairs(part) and not _reads_one(part, left, right) for part in rest):
        alone = all(map(_pairs, rest))
        met, rest = asked_first(rest, lambda p: _pairs(p) and (alone or bounds_pairs(p)), join)
    if not (first or equi or met):
        return outer
    to_left = [part for part in first if columns_of(part) <= left]
    to_right = [part for part in first if part not in to_left]
    before = () if join.residual is None else conjuncts(join.residual)
    moved = replace(
        join,
        left=push_filters(_filtered(join.left, to_left, outer)),
        right=push_filters(_filtered(join.right, to_right, outer)),
        equi=(*join.equi, *equi),
        residual=all_of((*before, *met)),
    )
    return _filtered(moved, rest, outer)


def _pairs(part: Expr) -> bool:
    """Tell whether a condition can be one of an inner join's pairs."""
    return bool(columns_of(part)) and is_deterministic(part)


def _reads_one(part: Expr, left: frozenset[str], right: frozenset[str]) -> bool:
    return columns_of(part) <= left or columns_of(part) <= right


def _filtered(node: n.Node, parts: list[Expr], outer: n.Filter) -> n.Node:
    predicate = all_of(parts)
    return node if predicate is None else n.Filter(node, predicate, span=outer.span)


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
