"""The window functions that are computed here, each by its family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.spark.in_process.aggregates import is_try_sum
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.windows import frame_aggregates, neighbours, ranks
from floodmark.spark.in_process.windows.partitions import Partitions, partitions_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_FAMILIES: dict[type[exp.Expression], Callable[[exp.Window, Partitions], pa.Array]] = {
    **dict.fromkeys(ranks.CALLS, ranks.rank_of),
    **dict.fromkeys(neighbours.OFFSETS, neighbours.neighbour_of),
    **dict.fromkeys(neighbours.ENDS, neighbours.end_of_frame),
    **dict.fromkeys(frame_aggregates.CALLS, frame_aggregates.aggregate_of_frame),
}
SYNTAX = (*_FAMILIES, exp.IgnoreNulls, exp.RespectNulls, exp.WindowSpec)
"""What window functions are written of."""


def window_values(node: exp.Window, rows: LazyFrame) -> pa.Array:
    """Return the values of a window function, one for each row."""
    call = node.this
    inner = call.this if isinstance(call, exp.IgnoreNulls | exp.RespectNulls) else call
    how = _FAMILIES.get(exp.Sum if is_try_sum(inner) else type(inner))
    if how is None:
        raise UnsupportedQuery(f"the window function {type(inner).__name__}")
    if inner is not call and type(inner) not in (*neighbours.OFFSETS, *neighbours.ENDS):
        raise UnsupportedQuery("NULLs that an aggregate does not see")
    partitions = partitions_of(node, rows)
    return partitions.values_of_rows(how(node, partitions))
