"""SQL types: what a column or an expression can be.

A type is a value; equal types are equal values. How a type looks in Spark is in
`floodmark.spark.types`, how it looks in a Delta log in `floodmark.storage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The families of SQL types."""

    BOOLEAN = "boolean"
    SMALLINT = "smallint"
    INT = "integer"
    BIGINT = "bigint"
    NUMERIC = "numeric"
    REAL = "real"
    DOUBLE = "double precision"
    VARCHAR = "character varying"
    BYTEA = "bytea"
    DATE = "date"
    TIME = "time without time zone"
    TIMESTAMP = "timestamp without time zone"
    TIMESTAMPTZ = "timestamp with time zone"
    INTERVAL = "interval"
    JSONB = "jsonb"
    UUID = "uuid"
    LIST = "list"
    STRUCT = "struct"
    MAP = "map"
    UNKNOWN = "unknown"
    """The type of an untyped NULL or string literal until something gives it one."""


@dataclass(frozen=True, slots=True)
class StructField:
    """One field of a struct."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class SqlType:
    """A SQL type.

    `precision` and `scale` are set for NUMERIC only, `element` for LIST (and as the value of MAP),
    `key` for MAP, `fields` for STRUCT.
    """

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    element: SqlType | None = None
    key: SqlType | None = None
    fields: tuple[StructField, ...] = ()

    def __post_init__(self) -> None:
        if self.kind is Kind.NUMERIC:
            assert self.precision is not None and self.scale is not None
            assert 0 <= self.scale <= self.precision <= 38, (self.precision, self.scale)

    def __str__(self) -> str:
        match self.kind:
            case Kind.NUMERIC:
                return f"numeric({self.precision},{self.scale})"
            case Kind.LIST:
                return f"{self.element}[]"
            case Kind.STRUCT:
                inner = ", ".join(f"{f.name} {f.type}" for f in self.fields)
                return f"struct<{inner}>"
            case Kind.MAP:
                return f"map({self.key}, {self.element})"
            case _:
                return str(self.kind.value)

    @property
    def is_integer(self) -> bool:
        """Tell whether it is a whole-number type."""
        return self.kind in (Kind.SMALLINT, Kind.INT, Kind.BIGINT)

    @property
    def is_float(self) -> bool:
        """Tell whether it is an inexact number type."""
        return self.kind in (Kind.REAL, Kind.DOUBLE)

    @property
    def is_numeric(self) -> bool:
        """Tell whether arithmetic is defined on it."""
        return self.is_integer or self.is_float or self.kind is Kind.NUMERIC

    @property
    def is_timestamp(self) -> bool:
        """Tell whether it is a timestamp with or without time zone."""
        return self.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ)

    @property
    def is_orderable(self) -> bool:
        """Tell whether `<` is defined on it (needed for a watermark column)."""
        return self.kind not in (Kind.JSONB, Kind.MAP, Kind.STRUCT, Kind.LIST, Kind.UNKNOWN)


BOOLEAN = SqlType(Kind.BOOLEAN)
SMALLINT = SqlType(Kind.SMALLINT)
INT = SqlType(Kind.INT)
BIGINT = SqlType(Kind.BIGINT)
REAL = SqlType(Kind.REAL)
DOUBLE = SqlType(Kind.DOUBLE)
VARCHAR = SqlType(Kind.VARCHAR)
BYTEA = SqlType(Kind.BYTEA)
DATE = SqlType(Kind.DATE)
TIME = SqlType(Kind.TIME)
TIMESTAMP = SqlType(Kind.TIMESTAMP)
TIMESTAMPTZ = SqlType(Kind.TIMESTAMPTZ)
INTERVAL = SqlType(Kind.INTERVAL)
JSONB = SqlType(Kind.JSONB)
UUID = SqlType(Kind.UUID)
UNKNOWN = SqlType(Kind.UNKNOWN)


def numeric(precision: int = 38, scale: int = 10) -> SqlType:
    """Return an exact decimal type; bare NUMERIC is (38, 10).

    >>> str(numeric(18, 2))
    'numeric(18,2)'
    """
    return SqlType(Kind.NUMERIC, precision=precision, scale=scale)


def is_bare(type_: SqlType) -> bool:
    """Tell whether it is what NUMERIC without digits stands for."""
    return type_ == numeric()


def list_of(element: SqlType) -> SqlType:
    """Return the type of an array."""
    return SqlType(Kind.LIST, element=element)


def leaf(type_: SqlType) -> SqlType:
    """Return the type of an array's elements, of arrays of arrays the innermost."""
    return type_ if type_.element is None or type_.kind is not Kind.LIST else leaf(type_.element)


def with_leaf(type_: SqlType, innermost: SqlType) -> SqlType:
    """Return an array type with another innermost element.

    >>> str(with_leaf(list_of(list_of(INT)), VARCHAR))
    'character varying[][]'
    """
    if type_.element is None or type_.kind is not Kind.LIST:
        return innermost
    return list_of(with_leaf(type_.element, innermost))


def nesting(type_: SqlType) -> int:
    """Return how deep arrays stand in a type: 0 for what is none, 1 for an array of numbers."""
    if type_.element is None or type_.kind is not Kind.LIST:
        return 0
    return 1 + nesting(type_.element)


def struct_of(*fields: tuple[str, SqlType]) -> SqlType:
    """Return the type of a row value."""
    return SqlType(Kind.STRUCT, fields=tuple(StructField(n, t) for n, t in fields))


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """Return the type of a map."""
    return SqlType(Kind.MAP, key=key, element=value)


@dataclass(frozen=True, slots=True)
class Field:
    """A named, typed column of a relation; names are unique within a relation."""

    name: str
    type: SqlType
    nullable: bool = True


Schema = tuple[Field, ...]
