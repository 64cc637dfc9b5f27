"""Sums: their types, and which of them cannot be out of range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.types import MOST_DIGITS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_BITS = 64
"""The bits of a number that is added up here."""


def sum_type(values: pa.Array) -> pa.DataType:
    """Return the type of sums: BIGINT, or decimals of ten digits more.

    `UnsupportedQuery` where a sum of all values may be out of range: Arrow does not see that.
    """
    import pyarrow as pa

    if pa.types.is_integer(values.type):
        target, limit = pa.int64(), 2 ** (_BITS - 1)
    elif pa.types.is_decimal128(values.type):
        precision = min(values.type.precision + 10, MOST_DIGITS)
        target, limit = pa.decimal128(precision, values.type.scale), 10**precision
    else:
        raise UnsupportedQuery(f"sums of {values.type}")
    # Half of the limit, for what rounding does to a decimal of many digits.
    if greatest_of(values) * len(values) >= limit // 2:
        raise UnsupportedQuery("a sum that may be out of range")
    return target


def units_of(values: pa.Array) -> np.ndarray[Any, Any]:
    """Return whole numbers, or decimals in units of their last digit, 0 for NULL.

    `UnsupportedQuery` where the sum of all of them has more than a word.
    """
    import numpy as np
    import pyarrow as pa

    if greatest_of(values) * len(values) >= 2 ** (_BITS - 2):
        raise UnsupportedQuery("sums of many digits")
    if pa.types.is_integer(values.type):
        return np.asarray(values.cast(pa.int64()).fill_null(0))
    # A decimal is two words, the low one first; here the other one has the sign alone.
    words = np.frombuffer(values.buffers()[1] or b"", dtype=np.int64).reshape(-1, 2)
    low = words[values.offset : values.offset + len(values), 0]
    return np.where(np.asarray(values.is_valid()), low, 0)


def numbers_of_units(
    units: np.ndarray[Any, Any], nothing: np.ndarray[Any, Any], type_: pa.DataType
) -> pa.Array:
    """Return what `units_of` made units of; NULL where there is nothing."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_integer(type_):
        return pa.array(units, mask=nothing)
    words = np.stack((units, units >> (_BITS - 1)), axis=1)
    valid = pa.array(~nothing).buffers()[1]
    return pa.Array.from_buffers(type_, len(units), [valid, pa.py_buffer(words.tobytes())])


def greatest_of(values: pa.Array) -> int:
    """Return the greatest of some numbers without their sign, decimals by their last digits."""
    import pyarrow as pa
    from pyarrow import compute as pc

    bounds = pc.min_max(values).as_py()
    if bounds["min"] is None:
        return 0
    most = max(abs(bounds["min"]), abs(bounds["max"]))
    return int(most if pa.types.is_integer(values.type) else most.scaleb(values.type.scale))
