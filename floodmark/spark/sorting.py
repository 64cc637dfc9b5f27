"""The texts by which rows and values sort as in PostgreSQL."""

from __future__ import annotations

from floodmark.scalar.functions.comparison import print_order
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.types import ident


def sort_text(name: str, type_: SqlType) -> str:
    """Return the text by which a column sorts, NULL being the largest inside of values.

    >>> from floodmark.scalar.types import INT, list_of
    >>> sort_text("a", INT)
    '`a`'
    >>> sort_text("a", list_of(INT))
    'transform(`a`, __o0 -> struct(__o0 IS NULL, __o0))'
    """
    nested = type_.kind in (Kind.LIST, Kind.STRUCT)
    return print_order(ident(name), type_) if nested else ident(name)


def sort_key(value: str, descending: bool, nulls_first: bool) -> str:
    """Return one item of ORDER BY.

    >>> sort_key("`a`", True, False)
    '`a` DESC NULLS LAST'
    """
    return f"{value} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
