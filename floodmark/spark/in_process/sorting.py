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

    columns, order = {}, []
    for i, key in enumerate(part for each in keys for part in _parts(each)):
        columns[f"null{i}"] = pc.is_null(key.values).cast(pa.int8())
        columns[f"key{i}"] = key.values
        order.append((f"null{i}", "descending" if key.nulls_first else "ascending"))
        order.append((f"key{i}", "descending" if key.descending else "ascending"))
    return np.asarray(pc.sort_indices(pa.table(columns), sort_keys=order))


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
