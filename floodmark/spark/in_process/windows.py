"""Places of rows in the order of their partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.evaluation import values_of
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.groups import codes_of
from floodmark.spark.in_process.sorting import SortColumn, sort_places

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
"""The window functions that are computed here."""


def window_values(node: exp.Window, rows: LazyFrame) -> pa.Array:
    """Return the values of a window function, as INT."""
    import numpy as np
    import pyarrow as pa

    if not isinstance(node.this, RANKS) or node.args.get("spec") is not None:
        raise UnsupportedQuery(f"the window function {type(node.this).__name__}")
    by = [values_of(each, rows) for each in node.args.get("partition_by") or ()]
    codes, _ = codes_of(by, rows.rows)
    ordered = node.args["order"].expressions if node.args.get("order") else ()
    keys = [key_of(each, rows) for each in ordered]
    order = sort_places([SortColumn(pa.array(codes)), *keys])
    sorted_codes = codes[order]
    starts = np.searchsorted(sorted_codes, sorted_codes, side="left")
    places = np.empty(rows.rows, dtype=np.int32)
    places[order] = np.arange(rows.rows) - starts + 1
    if not isinstance(node.this, exp.RowNumber):
        places[order] = _ranks(node, codes, keys, order, starts)
    return pa.array(places)


def _ranks(
    node: exp.Window,
    codes: np.ndarray[Any, Any],
    keys: Sequence[SortColumn],
    order: np.ndarray[Any, Any],
    starts: np.ndarray[Any, Any],
) -> np.ndarray[Any, Any]:
    """Return the rank of each row in the order: rows of equal keys share one."""
    import numpy as np
    import pyarrow as pa

    alike, _ = codes_of([pa.array(codes), *(key.values for key in keys)], len(codes))
    alike = alike[order]
    begins = np.concatenate(([True], alike[1:] != alike[:-1]))[: len(alike)]
    if isinstance(node.this, exp.Rank):
        first = np.maximum.accumulate(np.where(begins, np.arange(len(alike)), 0))
        return np.asarray(first - starts + 1)
    seen = np.cumsum(begins)
    return np.asarray(seen - seen[starts] + 1)


def key_of(node: exp.Ordered, rows: LazyFrame) -> SortColumn:
    """Return what ORDER BY sorts by."""
    return SortColumn(
        values_of(node.this, rows),
        descending=bool(node.args.get("desc")),
        nulls_first=bool(node.args.get("nulls_first")),
    )
