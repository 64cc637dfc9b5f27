"""Rows of Parquet files that are not taken in: those with times outside of the years."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from floodmark.connectors.base import REASON
from floodmark.connectors.files.parquet import WITHOUT_VALUES
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.years import outside_years
from floodmark.scalar.types import DATE, TIMESTAMP, TIMESTAMPTZ, Schema
from floodmark.spark.excerpt import excerpt
from floodmark.spark.types import ident, spark_type

_TIMES = {spark_type(type_): type_ for type_ in (DATE, TIMESTAMP, TIMESTAMPTZ)}


def fault_expressions(schema: Schema, types: Mapping[str, str | None]) -> list[str]:
    """Return the Spark text of `__corrupt`, the row as JSON, and of `__reason`.

    `types` are the file's types of columns, where they differ from the declared ones.
    """
    fault = _fault(schema, types)
    if fault is None:
        return ["CAST(NULL AS STRING) AS __corrupt", f"CAST(NULL AS STRING) AS {REASON}"]
    there = (ident(c.name) for c in schema if types.get(c.name, "") not in WITHOUT_VALUES)
    row = row_text(there)
    return [f"CASE WHEN ({fault}) IS NOT NULL THEN {row} END AS __corrupt", f"{fault} AS {REASON}"]


def beyond(name: str, text: str) -> str:
    """Return the Spark text that says that a column's value is outside of the years."""
    start, end = quote(f"{name}: '"), quote("' is outside of the years 1 to 9999")
    return f"concat({start}, {excerpt(text)}, {end})"


def row_text(columns: Iterable[str]) -> str:
    """Return the Spark text of a row as JSON, as its letter shows it."""
    return f"to_json(struct({', '.join(columns)}), map('ignoreNullFields', 'false'))"


def _fault(schema: Schema, types: Mapping[str, str | None]) -> str | None:
    """Return the Spark text of what is wrong with a row's times; None where nothing can be."""
    whens = []
    for column in schema:
        stored, name = types.get(column.name, spark_type(column.type)), ident(column.name)
        plain = _TIMES.get(stored or "")
        type_ = column.type if stored == spark_type(column.type) else plain
        outside = None if type_ is None else outside_years(name, type_)
        if outside is not None:
            text = f"to_json({name})" if plain is None else f"CAST({name} AS STRING)"
            whens.append(f"WHEN {outside} THEN {beyond(column.name, text)}")
    return f"CASE {' '.join(whens)} END" if whens else None
