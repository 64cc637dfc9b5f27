"""Lines of JSON that are no rows: which are, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.catalog.functions.quoting import quote
from floodmark.catalog.types import Schema

_SHOWN = 8
"""Keys that say what a line has instead of the declared columns."""


def has_no_column(value: str, schema: Schema, cells: Iterable[str | None]) -> str:
    """Return the Spark text of the test that an object has keys, and no declared column's.

    Keys are looked at where all `cells` are NULL. `{}` is a row of NULL: writers leave NULL out.
    """
    empty = " AND ".join(f"{cell} IS NULL" for cell in cells) or "FALSE"
    wanted = ", ".join(quote(column.name.lower()) for column in schema)
    keys = f"json_object_keys({value})"
    lower = f"transform({keys}, __k -> lower(__k))"
    return f"({empty} AND size({keys}) > 0 AND NOT arrays_overlap({lower}, array({wanted})))"


def no_column(value: str) -> str:
    """Return the Spark text that says of such a line what it has."""
    keys = f"array_join(slice(json_object_keys({value}), 1, {_SHOWN}), ', ')"
    start = quote("the line has none of the declared columns, it has: ")
    return f"make_valid_utf8(concat({start}, left({keys}, 200)))"
