"""Groups of rows that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from floodmark.spark.in_process.comparisons import check_numbers
from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.storage.files.row_codes import row_codes

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def codes_of(columns: Sequence[pa.Array], rows: int) -> tuple[np.ndarray[Any, Any], int]:
    """Return a number per row, the same for rows that Spark groups together: see `row_codes`."""
    for column in columns:
        check_numbers(column)
        _refuse_negative_zeros(column)
    return row_codes(columns, rows)


def _refuse_negative_zeros(column: pa.Array) -> None:
    """Leave -0 to Spark: it is like 0 there, and becomes it."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        numbers = np.asarray(column.fill_null(1))
        if (np.signbit(numbers) & (numbers == 0)).any():
            raise UnsupportedQuery("-0")


def first_places(codes: np.ndarray[Any, Any], count: int) -> pa.Array:
    """Return the first row of each group."""
    import numpy as np
    import pyarrow as pa

    first = np.empty(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return pa.array(first)
