"""Quotients of decimals, with the digits that Spark gives them, rounded half up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floodmark.scalar.functions.arithmetic import spark_quotient_scale
from floodmark.scalar.types import numeric
from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.types import MOST_DIGITS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_WORD = 1 << 64


def quotient(left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the quotients of decimals; NULL where the divisor is 0."""
    import numpy as np

    type_ = _type_of(left.type, right.type)
    shift = type_.scale + right.type.scale - left.type.scale
    a, b = _units(left), _units(right)
    nothing = np.asarray(left.is_null()) | np.asarray(right.is_null()) | (b == 0).astype(bool)
    b = np.where(nothing, 1, b)
    scaled = np.where(nothing, 0, a) * 10**shift
    whole, rest = abs(scaled) // abs(b), abs(scaled) % abs(b)
    rounded = whole + (2 * rest >= abs(b)).astype(np.int64)
    return _decimals(np.where((scaled < 0) != (b < 0), -rounded, rounded), nothing, type_)


def _type_of(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.Decimal128Type:
    """Return the type that Spark gives to quotients."""
    import pyarrow as pa

    sides = (numeric(t.precision, t.scale) for t in (left, right))
    scale = spark_quotient_scale(*sides)
    whole = left.precision - left.scale + right.scale
    return pa.decimal128(min(MOST_DIGITS, whole + scale), scale)


def _units(values: pa.Array) -> np.ndarray[Any, Any]:
    """Return decimals as whole numbers of Python, of their last digit."""
    import numpy as np

    words = np.frombuffer(values.buffers()[1], dtype=np.int64).reshape(-1, 2)
    words = words[values.offset : values.offset + len(values)]
    low, high = words[:, 0].astype(np.uint64).astype(object), words[:, 1].astype(object)
    return np.asarray(high * _WORD + low, dtype=object)


def _decimals(
    units: np.ndarray[Any, Any], nothing: np.ndarray[Any, Any], type_: pa.Decimal128Type
) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    if len(units) and int(abs(units).max()) >= 10**type_.precision:
        raise UnsupportedQuery("a quotient out of range")
    words = np.empty((len(units), 2), dtype=np.uint64)
    words[:, 0] = units % _WORD
    words[:, 1] = (units // _WORD) % _WORD
    valid = pa.array(~nothing).buffers()[1]
    return pa.Array.from_buffers(type_, len(units), [valid, pa.py_buffer(words.tobytes())])
