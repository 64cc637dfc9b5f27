"""Joins by equal keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from floodmark.spark.in_process.evaluation import path_of, truth_by_row, values_of
from floodmark.spark.in_process.frame import LargeQuery, LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.groups import codes_of
from floodmark.spark.in_process.types import cast, common_type

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Match(NamedTuple):
    """Two expressions that are to be equal; of the left and of the right side."""

    left: exp.Expression
    right: exp.Expression
    null_is_equal: bool


def join(
    left: LazyFrame, right: LazyFrame, condition: exp.Expression | None, kind: str, most: int
) -> LazyFrame:
    """Return the rows of a join; `kind` is the name of Spark's type of it.

    `LargeQuery` where more than `most` pairs of rows have equal keys.
    """
    import numpy as np
    import pyarrow as pa

    matches, rest = _matches(condition, left, right)
    ours, theirs = _codes(matches, left, right)
    counts, starts, order = _places(ours, theirs)
    if not rest and kind in _HALVES:
        return left.take(pa.array(np.flatnonzero((counts > 0) == _HALVES[kind])))
    if int(counts.sum()) > most:
        raise LargeQuery("a join of many rows")
    rows = np.repeat(np.arange(left.rows), counts)
    # Within the rows of one left row the places go up by one.
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    beside = order[np.repeat(starts, counts) + within]
    for test in rest:
        kept = np.asarray(truth_by_row(test, _pairs(left, rows, right, beside)))
        rows, beside = rows[kept], beside[kept]
    if kind in _HALVES:
        met = ~_others(rows, left.rows)
        return left.take(pa.array(np.flatnonzero(met == _HALVES[kind])))
    if kind not in _OUTER:
        raise UnsupportedQuery(kind)
    of_left, of_right = _OUTER[kind]
    alone = np.flatnonzero(_others(rows, left.rows)) if of_left else np.arange(0)
    others = np.flatnonzero(_others(beside, right.rows)) if of_right else np.arange(0)
    rows = np.concatenate([rows, alone, np.full(len(others), -1)])
    beside = np.concatenate([beside, np.full(len(alone), -1), others])
    return _pairs(left, rows, right, beside)


def _others(places: np.ndarray[Any, Any], rows: int) -> np.ndarray[Any, Any]:
    """Return which rows of a side are at none of the places."""
    import numpy as np

    others = np.ones(rows, dtype=bool)
    others[places] = False
    return others


_HALVES = {"JOIN_TYPE_LEFT_SEMI": True, "JOIN_TYPE_LEFT_ANTI": False}
"""Joins that give rows of the left side alone: those that meet a row, or those that meet none."""
_OUTER = {
    "JOIN_TYPE_INNER": (False, False),
    "JOIN_TYPE_CROSS": (False, False),
    "JOIN_TYPE_LEFT_OUTER": (True, False),
    "JOIN_TYPE_RIGHT_OUTER": (False, True),
    "JOIN_TYPE_FULL_OUTER": (True, True),
}
"""Whether a join also has the rows of its left and of its right side that meet none."""


def _pairs(
    left: LazyFrame, rows: np.ndarray[Any, Any], right: LazyFrame, beside: np.ndarray[Any, Any]
) -> LazyFrame:
    """Return rows of the left beside rows of the right; -1 is a row of NULLs."""
    columns = [
        c.take(_optional(places))
        for side, places in ((left, rows), (right, beside))
        for c in side.columns
    ]
    return LazyFrame(len(rows), columns)


def _optional(places: np.ndarray[Any, Any]) -> pa.Array:
    import pyarrow as pa

    missing = places < 0
    return pa.array(places, pa.int64(), mask=missing if missing.any() else None)


def _matches(
    condition: exp.Expression | None, left: LazyFrame, right: LazyFrame
) -> tuple[list[Match], list[exp.Expression]]:
    """Return the equalities of a condition between the sides, and what else it asks."""
    if condition is None or (isinstance(condition, exp.Boolean) and condition.this):
        return [], []
    if isinstance(condition, exp.Paren):
        return _matches(condition.this, left, right)
    if isinstance(condition, exp.And):
        one = _matches(condition.this, left, right)
        other = _matches(condition.expression, left, right)
        return [*one[0], *other[0]], [*one[1], *other[1]]
    if isinstance(condition, exp.EQ | exp.NullSafeEQ):
        sides = condition.this, condition.expression
        null_is_equal = isinstance(condition, exp.NullSafeEQ)
        for ours, theirs in (sides, sides[::-1]):
            if _reads(ours, left, right) and _reads(theirs, right, left):
                return [Match(ours, theirs, null_is_equal)], []
    return [], [condition]


def _reads(node: exp.Expression, side: LazyFrame, other: LazyFrame) -> bool:
    """Tell whether an expression reads columns of one side, and none of the other."""
    paths = [path_of(column) for column in node.find_all(exp.Column)]
    return bool(paths) and all(side.find(p) and not other.find(p) for p in paths)


def _codes(
    matches: Sequence[Match], left: LazyFrame, right: LazyFrame
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a number per row of each side, equal where the rows match; -1 for one that cannot."""
    import numpy as np
    import pyarrow as pa

    both, never = [], np.zeros(left.rows + right.rows, dtype=bool)
    for match in matches:
        ours, theirs = values_of(match.left, left), values_of(match.right, right)
        target = common_type([ours.type, theirs.type])
        values = pa.concat_arrays([cast(ours, target), cast(theirs, target)])
        both.append(values)
        if not match.null_is_equal:
            never |= np.asarray(values.is_null())
    codes, _ = codes_of(both, left.rows + right.rows)
    codes = np.where(never, -1, codes)
    return codes[: left.rows], codes[left.rows :]


def _places(
    ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return how many rows of the right side each left row meets, where they start, and those."""
    import numpy as np

    there = np.flatnonzero(theirs >= 0)
    codes = theirs[there]
    met = np.bincount(codes, minlength=int(ours.max(initial=-1)) + 1)
    starts = np.cumsum(met) - met
    if met.max(initial=0) > 1:
        order = there[np.argsort(codes, kind="stable")]
    else:
        order = np.empty(len(there), dtype=np.int64)
        order[starts[codes]] = there
    counts = np.where(ours < 0, 0, met[ours]) if len(met) else np.zeros(len(ours), dtype=np.int64)
    return counts, starts[ours] if len(met) else counts, order
