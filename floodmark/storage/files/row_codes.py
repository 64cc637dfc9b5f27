"""Rows that are alike, by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def row_codes(columns: Sequence[pa.Array], rows: int) -> tuple[np.ndarray[Any, Any], int]:
    """Return a number per row, the same for rows that are alike in all columns, and how many.

    They go up in the order in which they come first. NULL is like NULL. Values are compared as
    Arrow compares them; it has no order for those that are nested.
    """
    import numpy as np

    codes, limit = np.zeros(rows, dtype=np.int64), 1
    for more, others in sorted(map(_numbers, columns), key=itemgetter(1)):
        if limit * others >= _MOST:
            codes, limit = _renumber(codes, limit)
        codes, limit = codes * others + more, limit * others
        if limit <= rows:  # Columns with few values often go together: both have few, too.
            codes, limit = _renumber(codes, limit)
    return _renumber(codes, limit)


_MOST = 2**62


def _is_dense(limit: int, rows: int) -> bool:
    """Tell whether a table of all numbers below a limit is smaller than what a hash table costs."""
    return limit <= 8 * rows


def _numbers(column: pa.Array) -> tuple[np.ndarray[Any, Any], int]:
    """Return a number per row, the same for equal values, and a limit that all are below."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute as pc

    types = pa.types.is_signed_integer, pa.types.is_date32, pa.types.is_timestamp
    if any(is_type(column.type) for is_type in types):
        whole = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
        whole = whole.cast(pa.int64())
        low, high = pc.min_max(whole).as_py().values()
        if low is None:
            return np.zeros(len(column), dtype=np.int64), 1
        if _is_dense(high - low + 2, len(column)):
            numbers = np.asarray(whole.fill_null(low)) - low + 1
            if column.null_count:
                numbers[np.asarray(column.is_null())] = 0
            return numbers, high - low + 2
    encoded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)


def _renumber(codes: np.ndarray[Any, Any], limit: int) -> tuple[np.ndarray[Any, Any], int]:
    """Return numbers in the order in which those below a limit come first, and how many."""
    import numpy as np
    import pyarrow as pa

    if not len(codes):
        return codes, 0
    if not _is_dense(limit, len(codes)):
        encoded = pa.array(codes).dictionary_encode()
        return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)
    places = np.arange(len(codes), dtype=np.int32)
    first = np.empty(limit, dtype=np.int32)
    first[codes[::-1]] = places[::-1]
    firsts = first[codes]
    ranks = np.cumsum(firsts == places) - 1
    return ranks[firsts], int(ranks[-1]) + 1
