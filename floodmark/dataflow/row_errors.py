"""Texts that end a query where a row is refused."""

from __future__ import annotations

from floodmark.spark.expressions import CompiledExpr
from floodmark.spark.failures import RAISED, SAID
from floodmark.spark.rows import message_text


def raising(compiled: CompiledExpr) -> str:
    """Return the text of a value that ends the query where a row is refused."""
    if compiled.error is None:
        return compiled.value
    stop = raise_text(compiled.error, compiled.message)
    return f"CASE WHEN ({compiled.error}) IS NOT NULL THEN {stop} ELSE {compiled.value} END"


def raise_text(error: str, message: str | None = None) -> str:
    """Return the text that ends the query with a row error's code, and what a function said."""
    said = "" if message is None else f", coalesce({message_text(error, message)}, ''), '{SAID}'"
    return f"raise_error(concat('{RAISED}', CAST(({error}) AS STRING), '}}'{said}))"
