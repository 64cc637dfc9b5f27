"""Which types a format holds so that a source or COPY reads equal values back."""

from __future__ import annotations

from floodmark.errors import BindError, Span
from floodmark.scalar.types import Kind, Schema, SqlType

_NESTED = (Kind.LIST, Kind.STRUCT, Kind.MAP)
_ITEMS = (
    Kind.BOOLEAN, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE,
    Kind.VARCHAR, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.UUID,
)  # fmt: skip
"""Types of the items of arrays and structs that JSON has a form for which everybody reads."""


def check_types(columns: Schema, encode: str, span: Span | None) -> None:
    """Raise E0724 for a column whose type a format does not hold."""
    for column in columns:
        if encode != "parquet" and not _holds(encode, column.type):
            hint = "cast it to VARCHAR in the query, or ENCODE PARQUET"
            if encode == "csv" and _holds("json", column.type):
                hint = "ENCODE JSON or PARQUET, or cast it to VARCHAR in the query"
            raise BindError(
                "E0724",
                f'column "{column.name}" is {column.type}: {encode.upper()} cannot hold it',
                span=span,
                hint=hint,
            )


def _holds(encode: str, type_: SqlType) -> bool:
    if type_.kind not in _NESTED:
        return True
    return encode == "json" and _is_plain(type_)


def _is_plain(type_: SqlType) -> bool:
    match type_:
        case SqlType(Kind.LIST, element=SqlType() as element):
            return _is_plain(element)
        case SqlType(Kind.STRUCT, fields=fields):
            return all(_is_plain(f.type) for f in fields)
        case _:
            return type_.kind in _ITEMS
