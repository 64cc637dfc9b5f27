"""Places of rows in the order of their partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.functions.constants import constant_number
from floodmark.spark.in_process.windows.partitions import Partitions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

CALLS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile)
"""The window functions of places."""


def rank_of(node: exp.Window, rows: Partitions) -> pa.Array:
    """Return the ranks of rows, by place: an INT, or a part of the rows."""
    import numpy as np
    import pyarrow as pa

    if node.args.get("spec") is not None or not rows.keys:
        raise UnsupportedQuery("ranks of rows in no order, or with a frame")
    match node.this:
        case exp.RowNumber():
            ranks = rows.places - rows.starts + 1
        case exp.Rank():
            ranks = rows.peers[0] - rows.starts + 1
        case exp.DenseRank():
            ranks = _number_peers(rows)
        case exp.Ntile():
            ranks = _number_tiles(node.this, rows)
        case exp.PercentRank():
            others = rows.ends - rows.starts - 1
            return pa.array((rows.peers[0] - rows.starts) / np.maximum(others, 1))
        case _:
            return pa.array((rows.peers[1] - rows.starts) / (rows.ends - rows.starts))
    return pa.array(ranks.astype(np.int32))


def _number_peers(rows: Partitions) -> np.ndarray[Any, Any]:
    """Return the number of the peers of each place, from 1 in each partition."""
    import numpy as np

    seen = np.cumsum(rows.peers[0] == rows.places)
    return np.asarray(seen - seen[rows.starts] + 1)


def _number_tiles(call: exp.Ntile, rows: Partitions) -> np.ndarray[Any, Any]:
    """Return the number of the part of its partition that each place is in, the longer first."""
    import numpy as np

    parts = constant_number(call.this, rows.rows)
    if parts < 1:
        raise UnsupportedQuery("no parts")
    place, (short, longer) = rows.places - rows.starts, np.divmod(rows.ends - rows.starts, parts)
    in_longer = longer * (short + 1)
    behind = (place - in_longer) // np.maximum(short, 1) + longer
    return np.asarray(np.where(place < in_longer, place // (short + 1), behind) + 1)
