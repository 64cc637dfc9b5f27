"""What dead letters of rows say that a source or table does not take in: column, value, reason."""

from __future__ import annotations

from collections.abc import Sequence

from floodmark.scalar.functions.quoting import quote
from floodmark.spark.excerpt import excerpt
from floodmark.spark.types import ident


def lacking(column: str) -> str:
    """Return the Spark text of the message about a NULL where a value is needed.

    >>> lacking("id")
    "'id: NULL is not allowed (NOT NULL)'"
    """
    return quote(f"{column}: NULL is not allowed (NOT NULL)")


def null_time_message(column: str) -> str:
    """Return the Spark text of the message about a NULL in a column with a watermark."""
    return quote(f"{column}: NULL is not a time (WATERMARK FOR {column})")


def ahead(column: str, latest: str) -> str:
    """Return the Spark text of the message about a time that is after the column `latest`."""
    parts = (quote(f"{column}: '"), ident(column), quote("' is not up to "), ident(latest))
    return f"concat({', '.join(parts)})"


def twice(promise: str, key: Sequence[str]) -> str:
    """Return the Spark text of the message about a key that another row has."""
    value = excerpt(f"to_json(struct({', '.join(map(ident, key))}))")
    parts = (quote(f"{promise}: '"), value, quote("' is not new: a row has this key"))
    return f"concat({', '.join(parts)})"


def merge_message(row: str, needed: Sequence[str]) -> str:
    """Return the Spark text of the message about NULLs in what becomes of a row."""
    missing = ", ".join(f"CASE WHEN {row}.{ident(c)} IS NULL THEN {quote(c)} END" for c in needed)
    names_found = f"nullif(concat_ws(', ', {missing}), '')"
    names = quote(" or ".join(needed))
    return f"concat(coalesce({names_found}, {names}), {quote(': NULL is not allowed (NOT NULL)')})"
