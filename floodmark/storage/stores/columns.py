"""Which columns tables can have, whichever store they lie in."""

from __future__ import annotations

from floodmark.scalar.types import Schema
from floodmark.storage.delta.types import delta_schema


def check_columns(schema: Schema) -> None:
    """Raise `DataError` E0403 for columns whose names no table can hold."""
    delta_schema(schema)
