"""Whether a row came without a column, which then takes its DEFAULT; a NULL that came stays one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from floodmark.scalar.functions.quoting import quote
from floodmark.spark.types import ident

_ABSENT = "__absent_"


def absent_column(name: str) -> str:
    """Return the Spark name of the BOOLEAN that says that a row has no such column.

    >>> absent_column("d")
    '`__absent_d`'
    """
    return ident(_ABSENT + name)


def absent_texts(defaulted: Sequence[str], absent: Collection[str] = ()) -> list[str]:
    """Return the Spark texts where all rows lack the same columns."""
    return [f"{str(c in absent).upper()} AS {absent_column(c)}" for c in defaulted]


def absent_key(cell: str, row: str, name: str, variants: Sequence[str]) -> str:
    """Return the Spark text that is true where a JSON object has no such key.

    `row` is the text of the object, `cell` of what was found in it; keys are looked at where that
    is NULL. `variants` are keys that may stand for the column in other upper and lower case.
    """
    keys = [name, *(v for v in variants if v.lower() == name.lower())]
    wanted = f"array({', '.join(map(quote, keys))})"
    has = f"coalesce(arrays_overlap(json_object_keys({row}), {wanted}), FALSE)"
    return f"({cell} IS NULL AND NOT {has}) AS {absent_column(name)}"
