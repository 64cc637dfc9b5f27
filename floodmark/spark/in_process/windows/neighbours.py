"""Values of single rows: of those before and after a row, and at the ends of its frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.evaluation import evaluate
from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.types import cast, repeat_constant
from floodmark.spark.in_process.windows.frames import frame_of
from floodmark.spark.in_process.windows.partitions import Partitions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

OFFSETS = (exp.Lag, exp.Lead)
"""The window functions of a row that is so many rows away."""
_FIRSTS = (exp.First, exp.FirstValue, exp.AnyValue)
ENDS = (*_FIRSTS, exp.Last, exp.LastValue)
"""The window functions of the first and of the last row of a frame."""


def neighbour_of(node: exp.Window, rows: Partitions) -> pa.Array:
    """Return the values of lag or lead, by place."""
    import pyarrow as pa
    from pyarrow import compute as pc

    call, present = _unwrap(node.this)
    if node.args.get("spec") is not None or not rows.keys:
        raise UnsupportedQuery("a neighbour in no order, or with a frame")
    values = rows.values_in_order(call.this)
    candidates = _candidates(values, present=present)
    steps = _steps(call, rows)
    if isinstance(call, exp.Lag):
        at = _search(candidates, rows.places, "left") - steps
        exists = at >= _search(candidates, rows.starts, "left")
    else:
        at = _search(candidates, rows.places, "right") + steps - 1
        exists = at < _search(candidates, rows.ends, "left")
    neighbours = _take(values, candidates, at, exists)
    default = call.args.get("default")
    if default is None:
        return neighbours
    others = repeat_constant(evaluate(default, rows.rows), rows.rows.rows)
    if others.type not in (values.type, pa.null()):
        raise UnsupportedQuery(f"{others.type} in place of {values.type}")
    return pc.if_else(pa.array(exists), neighbours, cast(rows.sort_values(others), values.type))


def end_of_frame(node: exp.Window, rows: Partitions) -> pa.Array:
    """Return the values of the first or the last row of each frame, by place."""
    call, present = _unwrap(node.this)
    if not rows.keys:
        raise UnsupportedQuery("an end of rows in no order")
    values = rows.values_in_order(call.this)
    candidates = _candidates(values, present=present)
    frame = frame_of(node, rows)
    low, high = (_search(candidates, bound, "left") for bound in frame)
    at = low if isinstance(call, _FIRSTS) else high - 1
    return _take(values, candidates, at, low < high)


def _unwrap(call: exp.Expression) -> tuple[exp.Expression, bool]:
    """Return a function without IGNORE NULLS, and whether it had that."""
    if isinstance(call, exp.IgnoreNulls):
        return call.this, True
    return (call.this if isinstance(call, exp.RespectNulls) else call), False


def _candidates(values: pa.Array, *, present: bool) -> np.ndarray[Any, Any] | None:
    """Return the places whose values count: those that have one, or None for all."""
    import numpy as np

    if not present or not values.null_count:
        return None
    return np.flatnonzero(np.asarray(values.is_valid()))


def _search(
    candidates: np.ndarray[Any, Any] | None, places: np.ndarray[Any, Any], side: Any
) -> np.ndarray[Any, Any]:
    """Return how many candidates are before places, or up to them on the `right` side."""
    import numpy as np

    if candidates is None:
        return places if side == "left" else places + 1
    return np.searchsorted(candidates, places, side=side)


def _steps(call: exp.Expression, rows: Partitions) -> int:
    """Return how many rows away the neighbour is."""
    import pyarrow as pa

    offset = call.args.get("offset")
    steps = pa.scalar(1) if offset is None else evaluate(offset, rows.rows)
    if not isinstance(steps, pa.Scalar) or not pa.types.is_integer(steps.type):
        raise UnsupportedQuery("a neighbour so many rows away as a column says")
    if (steps.as_py() or 0) < 1:
        raise UnsupportedQuery("a row that is its neighbour")
    return int(steps.as_py())


def _take(
    values: pa.Array,
    candidates: np.ndarray[Any, Any] | None,
    at: np.ndarray[Any, Any],
    exists: np.ndarray[Any, Any],
) -> pa.Array:
    """Return the values at some of the candidates, NULL where there is none."""
    import numpy as np
    import pyarrow as pa

    places = np.where(exists, at, 0)
    if candidates is not None and len(candidates):
        places = candidates[places]
    return values.take(pa.array(places, mask=~exists))
