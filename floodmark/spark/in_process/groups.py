"""Rows that are alike: groups of them, and the pairs of a join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from floodmark.spark.in_process.comparisons import check_numbers

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def codes_of(columns: Sequence[pa.Array], rows: int) -> tuple[np.ndarray[Any, Any], int]:
    """Return a number per row, the same for rows that are alike in all columns, and how many.

    They are in the order in which they come first. NULL is like NULL.
    """
    import numpy as np
    import pyarrow as pa

    if not columns:
        return np.zeros(rows, dtype=np.int64), min(rows, 1)
    codes, count = _codes(columns[0])
    for column in columns[1:]:
        more, others = _codes(column)
        codes, count = _codes(pa.array(codes * others + more))
    return codes, count


def _codes(column: pa.Array) -> tuple[np.ndarray[Any, Any], int]:
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute as pc

    check_numbers(column)
    if pa.types.is_floating(column.type):
        # 0 and -0 are alike.
        column = pc.add(column, pa.scalar(0.0, column.type))
    encoded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)


def first_places(codes: np.ndarray[Any, Any], count: int) -> pa.Array:
    """Return the first row of each group."""
    import numpy as np
    import pyarrow as pa

    first = np.empty(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return pa.array(first)
