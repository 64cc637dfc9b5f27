"""Rows as lines of text, column by column: a value that comes often is written once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from floodmark.scalar.types import Kind, Schema, SqlType
from floodmark.spark.user_functions import from_arrow

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_NESTED = (Kind.INTERVAL, Kind.LIST, Kind.STRUCT, Kind.MAP)

Render = Callable[[Any, SqlType], str]
"""Writes an engine value, or None, of a type."""


def render_lines(
    schema: Schema, rows: pa.Table, heads: Sequence[str], end: str, render: Render, piece: int
) -> Iterator[str]:
    """Yield a line per row: before each value the head of its column, then the end.

    `piece` rows are rendered at a time."""
    from pyarrow import compute as pc

    for start in range(0, rows.num_rows, piece):
        some = rows.slice(start, piece)
        parts: list[Any] = []
        for i, (field, head) in enumerate(zip(schema, heads, strict=True)):
            parts += [head, _texts(some.column(i).combine_chunks(), field.type, render)]
        yield from pc.binary_join_element_wise(*parts, end, "").to_pylist()


def _texts(values: pa.Array, type_: SqlType, render: Render) -> pa.Array:
    """Return the texts of values; none is NULL."""
    import pyarrow as pa
    from pyarrow import compute as pc

    null = render(None, type_)
    if type_.kind in _INTEGERS:
        return pc.fill_null(pc.cast(values, pa.string()), null)
    if type_.kind in _NESTED:
        return pa.array([render(from_arrow(v, type_), type_) for v in values.to_pylist()])
    encoded = values.dictionary_encode()
    known = [render(from_arrow(v, type_), type_) for v in encoded.dictionary.to_pylist()]
    return pc.fill_null(pa.array(known, pa.string()).take(encoded.indices), null)
