"""The frames of window functions: from which place to which the rows are that a row sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from floodmark.spark.in_process.evaluation import evaluate
from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.windows.partitions import Partitions, stretches_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class FrameBounds(NamedTuple):
    """The first place of the frame of each place, and the one behind its last."""

    low: np.ndarray[Any, Any]
    high: np.ndarray[Any, Any]

    def count_places(self, held: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return how many of the places that hold are in each frame."""
        return self.add_up(held.astype("int64"))

    def add_up(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the sum of numbers in each frame; all of them together must have one."""
        import numpy as np

        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(numbers, dtype=np.int64)))
        return np.asarray(sums[self.high] - sums[self.low])


def frame_of(node: exp.Window, rows: Partitions) -> FrameBounds:
    """Return the frames of a window, one for each place."""
    spec = node.args.get("spec")
    if spec is None and not rows.keys:
        return FrameBounds(rows.starts, rows.ends)
    if spec is None:
        return FrameBounds(rows.starts, rows.peers[1])
    if spec.args.get("exclude"):
        raise UnsupportedQuery("a frame that leaves rows out")
    kind = spec.args["kind"].upper()
    type_ = _distance_type(kind, rows)
    start = _distance(spec, "start", type_, rows)
    end = _distance(spec, "end", type_, rows)
    if start is not None and end is not None and start > end:
        raise UnsupportedQuery("a frame that ends before it begins")
    if not rows.keys and (start, end) != (None, None):
        raise UnsupportedQuery("a frame of rows in no order")
    if kind == "ROWS":
        return _rows_between(start, end, rows)
    return _values_between(start, end, rows) if start or end else _peers_between(start, end, rows)


def _distance_type(kind: str, rows: Partitions) -> pa.DataType:
    """Return of which type distances are: numbers of rows, or like the values of the one key."""
    import pyarrow as pa

    if kind == "ROWS":
        return pa.int32()
    return rows.keys[0].values.type if len(rows.keys) == 1 else pa.null()


_OUTER = {"start": "PRECEDING", "end": "FOLLOWING"}


def _distance(spec: exp.WindowSpec, which: str, type_: pa.DataType, rows: Partitions) -> int | None:
    """Return how far after the current row a bound is; None for that of the partition."""
    import pyarrow as pa

    bound = spec.args.get(which) or "CURRENT ROW"
    side = (spec.args.get(f"{which}_side") or "").upper()
    if bound == "CURRENT ROW":
        return 0
    if bound == "UNBOUNDED" and side == _OUTER[which]:
        return None
    if not isinstance(bound, exp.Literal | exp.Cast):
        raise UnsupportedQuery(f"the bound {bound} {side}")
    far = evaluate(bound, rows.rows)
    known = isinstance(far, pa.Scalar) and far.is_valid and far.type == type_
    if not known or not pa.types.is_integer(type_) or far.as_py() < 0:
        raise UnsupportedQuery(f"the bound {bound} {side}")
    return int(far.as_py()) * (-1 if side == "PRECEDING" else 1)


def _rows_between(start: int | None, end: int | None, rows: Partitions) -> FrameBounds:
    import numpy as np

    low, high = rows.starts, rows.ends
    if start is not None:
        low = np.clip(rows.places + start, rows.starts, rows.ends)
    if end is not None:
        high = np.clip(rows.places + (end + 1), rows.starts, rows.ends)
    return FrameBounds(low, high)


def _peers_between(start: int | None, end: int | None, rows: Partitions) -> FrameBounds:
    low = rows.starts if start is None else rows.peers[0]
    return FrameBounds(low, rows.ends if end is None else rows.peers[1])


def _values_between(start: int | None, end: int | None, rows: Partitions) -> FrameBounds:
    """Return the frames of rows whose one key is so far from that of the row; NULL is with NULL."""
    import numpy as np

    (key,) = rows.keys
    values = rows.sort_values(key.values)
    present = np.flatnonzero(np.asarray(values.is_valid()))
    far = max(abs(start or 0), abs(end or 0))
    numbers, width = _from_zero(values.drop_null(), far)
    if width * (len(values) + 1) >= np.iinfo(np.int64).max:
        raise UnsupportedQuery("distances of large numbers")
    if key.descending:
        numbers = width - 1 - numbers
    # A stretch of numbers for each partition.
    begins = rows.starts[present] * width
    ordered, (low, high) = begins + numbers, _peers_between(start, end, rows)
    low, high = low.copy(), high.copy()
    first, behind = stretches_of(begins)
    # NULLs are before or behind all numbers of their partition, and so is a bound that meets none.
    if start is not None:
        at = np.searchsorted(ordered, ordered + start, side="left")
        low[present] = present[first] + np.clip(at, first, behind) - first
    if end is not None:
        at = np.searchsorted(ordered, ordered + end, side="right")
        high[present] = present[first] + np.clip(at, first, behind) - first
    return FrameBounds(low, np.maximum(low, high))


def _from_zero(values: pa.Array, far: int) -> tuple[np.ndarray[Any, Any], int]:
    """Return numbers as what is above the least, and how many there are with their distances."""
    import numpy as np

    numbers = np.asarray(values).astype(np.int64)
    least, most = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    # Beyond the type it is an error, or another number.
    if max(abs(least), abs(most)) + far >= 2 ** (values.type.bit_width - 1) - 1:
        raise UnsupportedQuery("distances beyond a type")
    return numbers - least + far, most - least + 2 * far + 1
