"""Rows that are alike, by numbers."""

from __future__ import annotations

from collections.abc import Sequence
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
    import pyarrow as pa

    codes, count = np.zeros(rows, dtype=np.int64), min(rows, 1)
    for i, column in enumerate(columns):
        more, others = _codes(column)
        # Numbered anew after each column, the codes stay below the number of rows.
        codes, count = _codes(pa.array(codes * others + more)) if i else (more, others)
    return codes, count


def _codes(column: pa.Array) -> tuple[np.ndarray[Any, Any], int]:
    import numpy as np

    encoded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)
