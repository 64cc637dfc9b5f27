"""Metadata columns: what messages and files say of themselves, and the columns that take it."""

from __future__ import annotations

from collections.abc import Mapping

from floodmark.catalog.option_table import nearest
from floodmark.connectors.base import METADATA, SourceSpec
from floodmark.errors import UserError
from floodmark.scalar.types import SqlType
from floodmark.spark.types import ident, spark_type

MetadataTypes = Mapping[str, SqlType]
"""What a connector delivers of itself, by name."""


def check_metadata(spec: SourceSpec, known: MetadataTypes, what: str) -> None:
    """Refuse metadata that `what` does not have (E0474) or that no such column takes (E0484)."""
    for column in spec.metadata:
        if column.name not in known:
            raise UserError(
                "E0474",
                f"source {spec.name}: {what} has no metadata {column.name!r}",
                hint=nearest(column.name, known),
            )
        delivered = known[column.name]
        if delivered != column.type and not (delivered.is_timestamp and column.type.is_timestamp):
            raise UserError(
                "E0484",
                f"source {spec.name}: the metadata {column.name!r} is of type {delivered}, "
                f"the column of type {column.type}",
                hint=f"declare the column {str(delivered).upper()} and cast it in the query",
            )


def names_of(spec: SourceSpec) -> list[str]:
    """Return the metadata that a source asks for, each once."""
    return list(dict.fromkeys(column.name for column in spec.metadata))


def metadata_column(name: str) -> str:
    """Return the Spark name under which a connector delivers metadata.

    >>> metadata_column("file_name")
    '`__metadata_file_name`'
    """
    return ident(METADATA + name)


def no_metadata(names: list[str], known: MetadataTypes) -> list[str]:
    """Return the Spark text of metadata columns that are NULL."""
    return [f"CAST(NULL AS {spark_type(known[m])}) AS {metadata_column(m)}" for m in names]
