"""Aggregates of the rows of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.aggregates import argument_of
from floodmark.spark.in_process.evaluation import is_true, truth
from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.sorting import SortColumn, has_extremes, sort_places
from floodmark.spark.in_process.sums import numbers_of_units, sum_type, units_of
from floodmark.spark.in_process.windows.frames import FrameBounds, frame_of
from floodmark.spark.in_process.windows.partitions import Partitions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

CALLS = (
    exp.Sum,
    exp.Count,
    exp.CountIf,
    exp.Min,
    exp.Max,
    exp.ArgMax,
    exp.ArgMin,
    exp.LogicalOr,
    exp.LogicalAnd,
)
"""The aggregates that are computed over frames."""


def aggregate_of_frame(node: exp.Window, rows: Partitions) -> pa.Array:
    """Return the values of an aggregate over the frame of each place."""
    import pyarrow as pa

    call, frame = node.this, frame_of(node, rows)
    argument = argument_of(call)
    if isinstance(argument, exp.Star):
        return pa.array(frame.high - frame.low)
    values = rows.values_in_order(argument)
    match call:
        case exp.Count():
            return pa.array(frame.count_places(_valid(values)))
        case exp.CountIf():
            return pa.array(frame.count_places(_array(is_true(values))))
        case exp.LogicalOr() | exp.LogicalAnd():
            return _any_or_all(call, values, frame)
        case exp.Min() | exp.Max():
            if not has_extremes(values.type):
                raise UnsupportedQuery(f"the extreme of {values.type}")
            return values.take(_extremes(values, frame, highest=isinstance(call, exp.Max)))
        case exp.ArgMax() | exp.ArgMin():
            by = rows.values_in_order(call.expression)
            return values.take(_extremes(by, frame, highest=isinstance(call, exp.ArgMax)))
        case _:
            return _sum(values, frame)


def _array(values: pa.Array) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.asarray(values)


def _valid(values: pa.Array) -> np.ndarray[Any, Any]:
    return _array(values.is_valid())


def _any_or_all(call: exp.Expression, values: pa.Array, frame: FrameBounds) -> pa.Array:
    import pyarrow as pa

    held, known = (
        frame.count_places(_array(is_true(truth(values)))),
        frame.count_places(_valid(values)),
    )
    result = held > 0 if isinstance(call, exp.LogicalOr) else held == known
    return pa.array(result, mask=known == 0)


def _sum(values: pa.Array, frame: FrameBounds) -> pa.Array:
    target = sum_type(values)
    sums = frame.add_up(units_of(values))
    return numbers_of_units(sums, frame.count_places(_valid(values)) == 0, target)


def _extremes(values: pa.Array, frame: FrameBounds, *, highest: bool) -> pa.Array:
    """Return the place of the highest, or lowest, value in each frame; NULL where there is none."""
    import numpy as np
    import pyarrow as pa

    order = sort_places([SortColumn(values, descending=not highest)])
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    # The best values of runs of 1, 2, 4 places and so on; a frame is two such runs, which overlap.
    best, run = np.where(_valid(values), ranks, -1), 1
    lengths = frame.high - frame.low
    longest = lengths.max(initial=0)
    found = np.full(len(order), -1)
    while run <= longest:
        at = np.flatnonzero((lengths >= run) & (lengths < 2 * run))
        found[at] = np.maximum(best[frame.low[at]], best[frame.high[at] - run])
        best, run = np.maximum(best[:-run], best[run:]), 2 * run
    return pa.array(order[found], mask=found < 0)
