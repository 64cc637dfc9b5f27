"""Placement of the conditions of a join and of a filter above it.

`FROM a, b WHERE a.k = b.k AND a.x > 3` becomes an equi join over a filtered `a`: a cross join
cannot be maintained incrementally by key. A condition on the pairs of an inner join becomes part of
the join, where it may bound how long a row can find a partner. An outer join whose padded rows
WHERE drops becomes an inner join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.conjunctions import all_of, conjuncts, factor, is_movable
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, columns_of
from floodmark.plan.rules.interval_join import bounds_pairs
from floodmark.plan.rules.nullability import needs_values, split_conditions

_PADDED = {
    (False, False): n.JoinKind.INNER,
    (False, True): n.JoinKind.LEFT,
    (True, False): n.JoinKind.RIGHT,
    (True, True): n.JoinKind.FULL,
}
"""By whether the left and the right columns can be padded."""


@dataclass(frozen=True, slots=True)
class PlacedConditions:
    """A join whose inputs are still to be filtered, and the conditions that stay above it."""

    join: n.Join
    to_left: Sequence[Expr]
    to_right: Sequence[Expr]
    above: Sequence[Expr]


def settle_conditions(join: n.Join, filters: Sequence[Expr]) -> PlacedConditions:
    """Return where the conditions of a join, and of a filter over it, are asked."""
    parts = [part for one in filters for part in factor(one)]
    join = replace(join, kind=_kind(join, parts))
    inner = join.kind is n.JoinKind.INNER
    left, right = frozenset(join.left.names), frozenset(join.right.names)

    def one_side(part: Expr) -> bool:
        drops_left = not join.kind.pads_left and _reads(part, left)
        return is_movable(part) and (
            drops_left or (not join.kind.pads_right and _reads(part, right))
        )

    equi: list[tuple[str, str]] = []
    other: list[Expr] = []
    for part in parts:
        pair = _equal_columns(part, left, right) if inner else None
        if pair is None:
            other.append(part)
        else:
            equi.append(pair)
    first, above = split_conditions(other, one_side, join)
    met: Sequence[Expr] = ()
    if inner and any(_pairs(p) and not (_reads(p, left) or _reads(p, right)) for p in above):
        alone = all(map(_pairs, above))
        met, above = split_conditions(
            above, lambda p: _pairs(p) and (alone or bounds_pairs(p)), join
        )
    on_first, on = _own(join, left, right)
    first = [*first, *on_first]
    residual = all_of((*on, *(p for p in met if p not in on)))
    if join.residual is not None and residual == join.residual:
        # The same, with its place in the text.
        residual = join.residual
    return PlacedConditions(
        replace(join, equi=(*join.equi, *equi), residual=residual),
        [part for part in first if _reads(part, left)],
        [part for part in first if _reads(part, right)],
        above,
    )


def _own(
    join: n.Join, left: frozenset[str], right: frozenset[str]
) -> tuple[Sequence[Expr], Sequence[Expr]]:
    """Return the conditions of ON on one side whose unmatched rows are dropped, and the rest."""
    if join.residual is None:
        return (), ()
    spares_left = join.kind in (n.JoinKind.INNER, n.JoinKind.RIGHT)
    spares_right = join.kind not in (n.JoinKind.RIGHT, n.JoinKind.FULL)

    def moves(part: Expr) -> bool:
        one = (spares_left and _reads(part, left)) or (spares_right and _reads(part, right))
        return one and is_movable(part)

    # Columns of pairs are not padded.
    pairs = replace(join, kind=n.JoinKind.INNER, residual=None)
    return split_conditions(conjuncts(join.residual), moves, pairs)


def _kind(join: n.Join, parts: Sequence[Expr]) -> n.JoinKind:
    """Return the kind of join without padding that a filter over it drops."""
    fails = any(map(can_fail, parts))
    # Beside one that fails, one that is NULL decides nothing.
    sure = [p for p in parts if is_movable(p) and (not fails or _is_test(p))]

    def drops(side: n.Node) -> bool:
        tested = (a for p in sure if needs_values(p) for a in p.args)
        return any(isinstance(a, ColumnRef) and a.name in side.names for a in tested)

    if not (join.kind.pads_left or join.kind.pads_right):
        return join.kind
    padded = (
        join.kind.pads_left and not drops(join.left),
        join.kind.pads_right and not drops(join.right),
    )
    return _PADDED[padded]


def _is_test(part: Expr) -> bool:
    return isinstance(part, Call) and part.function == "is_not_null"


def _pairs(part: Expr) -> bool:
    """Tell whether a condition can be one of an inner join's pairs."""
    return bool(columns_of(part)) and is_deterministic(part)


def _reads(part: Expr, side: frozenset[str]) -> bool:
    """Tell whether a condition reads columns of one side, and of no other."""
    read = columns_of(part)
    return bool(read) and read <= side


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
