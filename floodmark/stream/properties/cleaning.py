"""State cleaning: rows of kept inputs that no later change can need, by watermarks.

A row is needed as long as a later change can match it. If rows match by a column with a watermark,
or within a distance in time of one, a row is no longer needed after the watermark has passed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from floodmark.plan import nodes as n
from floodmark.plan.rules.interval_join import DAY, Distance, all_distances
from floodmark.scalar.types import Kind

Columns = frozenset[str]


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Drops stored rows whose `column` is below the lowest of `terms`.

    Each term is a column of some input, of which the watermark counts, and what is added to that:
    microseconds for times, a number for numbers. The last ones of each partition of a window stay:
    so many rows, or groups of peers, as `last` says.
    """

    column: str
    terms: tuple[tuple[str, Decimal], ...]
    last: int = 0


def scope_cleaning(scope: Sequence[str], marks: Columns) -> Cleaning | None:
    """Return the cleaning of rows that meet only those with the same values."""
    column = next((c for c in scope if c in marks), None)
    return None if column is None else Cleaning(column, ((column, Decimal(0)),))


def join_cleaning(
    node: n.Join, left: Columns, right: Columns
) -> tuple[Cleaning | None, Cleaning | None]:
    for a, b in node.equi:
        if a in left and b in right:
            return equality_cleaning(a, b)
    known = left | right
    found = [d for d in all_distances(node) if {d.column, d.other} <= known and d.is_exact]
    to_left = next((d for d in found if d.column in left), None)
    to_right = next((d for d in found if d.column in right), None)
    if node.kind is n.JoinKind.INNER:
        return _apart(to_left), _apart(to_right)
    if node.kind is n.JoinKind.FULL:
        return None, None
    # A row that is padded without a match needs all of its matches for as long as it is kept.
    kept, other = (to_right, to_left) if node.kind.pads_left else (to_left, to_right)
    first = _apart(kept)
    second = None
    if first is not None and other is not None:
        # A date goes as a whole, up to a day after its beginning.
        more = other.by - (DAY if other.other_kind is Kind.DATE else 0)
        shifted = tuple((c, by + more) for c, by in first.terms)
        second = Cleaning(other.column, ((other.column, Decimal(0)), *shifted))
    return (second, first) if node.kind.pads_left else (first, second)


def equality_cleaning(a: str, b: str) -> tuple[Cleaning, Cleaning]:
    """Return the cleaning of rows that meet where two columns are equal."""
    terms = ((a, Decimal(0)), (b, Decimal(0)))
    return Cleaning(a, terms), Cleaning(b, terms)


def _apart(far: Distance | None) -> Cleaning | None:
    """Return the cleaning of the rows whose column is never below another one and a distance."""
    if far is None:
        return None
    return Cleaning(far.column, ((far.column, Decimal(0)), (far.other, far.by)))
