"""The order of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from floodmark.spark.in_process import numbers
from floodmark.spark.in_process.frame import UnsupportedQuery

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class SortColumn(NamedTuple):
    """Values to sort by."""

    values: pa.Array
    descending: bool = False
    nulls_first: bool = False


def sort_places(keys: Sequence[SortColumn]) -> np.ndarray[Any, Any]:
    """Return the places of rows in the order of some keys; there is at least one."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute as pc

    parts = [part for each in keys for part in _parts(each)]
    if (words := _words_of(parts)) is not None:
        return np.lexsort(words)
    columns, order = {}, []
    for i, key in enumerate(parts):
        columns[f"null{i}"] = pc.is_null(key.values).cast(pa.int8())
        columns[f"key{i}"] = key.values
        order.append((f"null{i}", "descending" if key.nulls_first else "ascending"))
        order.append((f"key{i}", "descending" if key.descending else "ascending"))
    return np.asarray(pc.sort_indices(pa.table(columns), sort_keys=order))


def sort_words(keys: Sequence[SortColumn]) -> list[np.ndarray[Any, Any]] | None:
    """Return numbers that are equal for equal rows, or None for keys that have no such ones."""
    return _words_of([part for each in keys for part in _parts(each)])


def _words_of(parts: Sequence[SortColumn]) -> list[np.ndarray[Any, Any]] | None:
    if not all(_is_whole(part.values.type) for part in parts):
        return None
    return [words for part in reversed(parts) for words in _words(part)]


def _is_whole(type_: pa.DataType) -> bool:
    """Tell whether values are whole numbers within."""
    from pyarrow import types

    return any(
        test(type_) for test in (types.is_signed_integer, types.is_date32, types.is_timestamp)
    )


def _words(key: SortColumn) -> Iterator[np.ndarray[Any, Any]]:
    """Yield numbers to sort by, upwards: by the last ones first.

    Rows that come in order are sorted faster this way than Arrow does it, and so are small numbers.
    """
    import numpy as np
    import pyarrow as pa

    width = pa.int32() if key.values.type.bit_width == 32 else pa.int64()
    values = key.values if pa.types.is_integer(key.values.type) else key.values.view(width)
    words = np.asarray(values.fill_null(0) if values.null_count else values)
    yield _narrow(~words if key.descending else words)
    if values.null_count:
        yield np.asarray(values.is_valid() if key.nulls_first else values.is_null())


def _narrow(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return numbers in two bytes where they fit: those are sorted without comparisons."""
    import numpy as np

    least = words.min(initial=0)
    if int(words.max(initial=0)) - int(least) > np.iinfo(np.uint16).max:
        return words
    return np.asarray((words - least).astype(np.uint16))


def has_extremes(type_: pa.DataType) -> bool:
    """Tell whether there is a least and a greatest value of a type, here and in Spark."""
    from pyarrow import types

    return numbers.has_plain_order(type_) or bool(types.is_string(type_))


def _parts(key: SortColumn) -> Iterator[SortColumn]:
    """Yield what to sort by in place of a key: a struct is sorted by its fields."""
    import pyarrow as pa
    from pyarrow import compute as pc

    type_ = key.values.type
    if pa.types.is_struct(type_):
        there = pc.is_valid(key.values).cast(pa.int8())
        yield SortColumn(there, descending=not key.nulls_first)
        for i in range(type_.num_fields):
            field = pc.struct_field(key.values, [i])
            yield from _parts(SortColumn(field, key.descending, nulls_first=not key.descending))
    elif pa.types.is_boolean(type_):
        yield key._replace(values=key.values.cast(pa.int8()))
    elif has_extremes(type_):
        yield key
    else:
        raise UnsupportedQuery(f"an order by {type_}")
