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

from floodmark.catalog.types import BOOLEAN
from floodmark.plan import nodes as n
from floodmark.plan.can_fail import can_fail
from floodmark.plan.conjunctions import all_of, conjuncts, factored, is_movable
from floodmark.plan.determinism import is_deterministic
from floodmark.plan.expressions import Call, ColumnRef, Expr, Literal, columns_of, transform


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
    parts = conjuncts(outer.predicate)
    known = _known(parts, project)
    moving: list[Expr] = []
    rest: list[Expr] = []
    for part in parts:
        moves = is_movable(part) and columns_of(part) <= set(passed)
        if moves:
            moving.append(part if part in known else _not_false(part))
        if not moves or part not in known:
            rest.append(part)
    if not moving:
        return outer

    def renamed(e: Expr) -> Expr:
        return passed[e.name] if isinstance(e, ColumnRef) else e

    below = _filtered(project.input, [transform(part, renamed) for part in moving], outer)
    return _filtered(replace(project, input=push_filters(below)), rest, outer)


def _below(node: n.Node) -> n.Node:
    while isinstance(node, n.Project):
        node = node.input
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
    drawn: list[Expr] = []
    parts = factored(outer.predicate)
    known = _known(parts, join)
    for part in parts:
        pair = _equal_columns(part, left_names, right_names)
        read = columns_of(part)
        side = to_left if read <= left_names else to_right if read <= right_names else None
        if not read or not is_deterministic(part):
            drawn.append(part)
        elif inner and pair is not None:
            equi.append(pair)
        elif is_movable(part) and side is not None and (inner or side is to_left):
            side.append(part if part in known else _not_false(part))
            rest += [] if part in known else [part]
        else:
            rest.append(part)
    sides = (left_names, right_names)
    pairs = inner and any(not any(columns_of(p) <= s for s in sides) for p in rest)
    if not (to_left or to_right or equi or pairs):
        return outer
    met = () if join.residual is None else conjuncts(join.residual)
    moved = replace(
        join,
        left=push_filters(_filtered(join.left, to_left, outer)),
        right=push_filters(_filtered(join.right, to_right, outer)),
        equi=(*join.equi, *equi),
        residual=all_of((*met, *(rest if pairs else ()))),
    )
    return _filtered(moved, [*(() if pairs else rest), *drawn], outer)


def _known(parts: Sequence[Expr], node: n.Node) -> Sequence[Expr]:
    """Return the conditions that are TRUE or FALSE where that matters: beside one that can fail."""
    return [p for p in parts if _never_null(p, node)] if any(map(can_fail, parts)) else parts


def _never_null(part: Expr, node: n.Node) -> bool:
    match part:
        case Call(function="is_null" | "is_not_null" | "is_not_false"):
            return True
        case Call(function="=", args=(ColumnRef(), ColumnRef())):
            # What can join two inputs is asked first.
            return True
        case Call(function="=" | "<>" | "<" | "<=" | ">" | ">="):
            return all(_never_null(arg, node) for arg in part.args)
        case ColumnRef():
            return not node.field(part.name).nullable
        case Literal():
            return part.value is not None
        case _:
            return False


def _not_false(part: Expr) -> Expr:
    return Call(BOOLEAN, "is_not_false", (part,), span=part.span)


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
