"""The frames of window functions: from which place to which the rows are that a row sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.windows.partitions import Partitions

if TYPE_CHECKING:
    import numpy as np


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
    """Return the frames of a window; `UnsupportedQuery` for distances between values."""
    spec = node.args.get("spec")
    if spec is None and not rows.keys:
        return FrameBounds(rows.starts, rows.ends)
    if spec is None:
        return FrameBounds(rows.starts, rows.peers[1])
    if spec.args.get("exclude"):
        raise UnsupportedQuery("a frame that leaves rows out")
    start = _distance(spec.args["start"], spec.args.get("start_side"), "PRECEDING")
    end = _distance(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), "FOLLOWING")
    if not rows.keys and (start, end) != (None, None):
        raise UnsupportedQuery("a frame of rows in no order")
    if spec.args["kind"] == "ROWS":
        return _rows_between(start, end, rows)
    return _peers_between(start, end, rows)


def _distance(bound: Any, side: str | None, outer: str) -> int | None:
    """Return how many rows after the current one a bound is; None for the partition's."""
    if bound == "CURRENT ROW":
        return 0
    if bound == "UNBOUNDED" and side == outer:
        return None
    if not isinstance(bound, exp.Literal) or bound.is_string or not bound.this.isdecimal():
        raise UnsupportedQuery(f"the bound {bound} {side}")
    return int(bound.this) * (-1 if side == "PRECEDING" else 1)


def _rows_between(start: int | None, end: int | None, rows: Partitions) -> FrameBounds:
    import numpy as np

    if start is not None and end is not None and start > end:
        raise UnsupportedQuery("a frame that ends before it begins")
    low, high = rows.starts, rows.ends
    if start is not None:
        low = np.clip(rows.places + start, rows.starts, rows.ends)
    if end is not None:
        high = np.clip(rows.places + (end + 1), rows.starts, rows.ends)
    return FrameBounds(low, high)


def _peers_between(start: int | None, end: int | None, rows: Partitions) -> FrameBounds:
    if start or end:
        raise UnsupportedQuery("distances between values")
    low = rows.starts if start is None else rows.peers[0]
    return FrameBounds(low, rows.ends if end is None else rows.peers[1])
