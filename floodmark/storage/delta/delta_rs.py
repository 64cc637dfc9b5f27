"""What delta-rs does for a table: it knows a table by the name that Spark has for its folder."""

from __future__ import annotations

from collections.abc import Mapping

from deltalake import DeltaTable, Schema

from floodmark.storage.objects.contract import Objects


def open_table(table: Objects) -> DeltaTable:
    """Return a table as delta-rs reads it."""
    return DeltaTable(table.place)


def create_table(table: Objects, schema: str, properties: Mapping[str, str]) -> None:
    """Create a table; `schema` is the text of the Delta JSON schema."""
    DeltaTable.create(
        table.place,
        Schema.from_json(schema),
        mode="error",
        configuration=dict(properties),
        raise_if_key_not_exists=False,
    )
