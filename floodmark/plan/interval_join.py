"""Joins whose condition keeps two times at a distance: each bounds what the other can still be."""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.catalog.types import Kind
from floodmark.plan import nodes as n
from floodmark.plan.conjunctions import conjuncts, is_movable
from floodmark.plan.expressions import Call, ColumnRef, Expr, Literal

_GREATER = {">": (0, 1), ">=": (0, 1), "<": (1, 0), "<=": (1, 0)}


@dataclass(frozen=True, slots=True)
class Distance:
    """`column` is never below `other` + `sign` * `interval`, in every pair of the join."""

    column: str
    other: str
    interval: n.Interval
    sign: int


def distances(node: n.Join) -> tuple[Distance, ...]:
    """Return what the join's condition says of a column of one side and one of the other.

    `l.t BETWEEN r.t - x AND r.t + y` gives one for each side. Intervals with months say nothing.
    """
    if node.residual is None:
        return ()
    found = (distance(part) for part in conjuncts(node.residual))
    left = set(node.left.names)
    apart = (d for d in found if d is not None and (d.column in left) != (d.other in left))
    return tuple(d for d in apart if not _padded(d.column in left, node.kind))


def _padded(is_left: bool, kind: n.JoinKind) -> bool:
    return kind.pads_left if is_left else kind.pads_right


def bounds_pairs(part: Expr) -> bool:
    """Tell whether a condition can be asked of all pairs of an inner join before other conditions.

    That is one that cannot fail, and a distance of two times, which settles how long a row pairs:
    a time beyond the years that a timestamp has puts the pair aside whatever the others say.
    """
    return is_movable(part) or distance(part) is not None


def distance(part: Expr) -> Distance | None:
    """Return what a condition says of two columns; None where it is no comparison of two times."""
    if not (isinstance(part, Call) and part.function in _GREATER and len(part.args) == 2):
        return None
    above, below = (_shifted(part.args[i]) for i in _GREATER[part.function])
    if above is None or below is None:
        return None
    (column, gap, sign), (other, other_gap, other_sign) = above, below
    if any(gap) and any(other_gap):
        return None
    # column + gap >= other + other_gap
    if any(gap):
        return Distance(column, other, gap, -sign)
    return Distance(column, other, other_gap, other_sign)


def _shifted(expr: Expr) -> tuple[str, n.Interval, int] | None:
    """Return a column, and the interval that is added to it or, with -1, taken from it."""
    match expr:
        case ColumnRef():
            return expr.name, (0, 0, 0), 1
        case Call(function="+" | "-" as op, args=(ColumnRef() as column, Literal() as by)):
            if by.type.kind is not Kind.INTERVAL or by.value is None or by.value[0]:
                return None
            return column.name, by.value, 1 if op == "+" else -1
        case _:
            return None
