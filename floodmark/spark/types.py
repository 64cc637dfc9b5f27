"""How SQL types look in Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from floodmark.scalar.types import Field, Kind, SqlType

INTERVAL_DDL = "struct<months:int,days:int,micros:bigint>"

_SIMPLE: Mapping[Kind, str] = {
    Kind.BOOLEAN: "boolean",
    Kind.SMALLINT: "smallint",
    Kind.INT: "int",
    Kind.BIGINT: "bigint",
    Kind.REAL: "float",
    Kind.DOUBLE: "double",
    Kind.VARCHAR: "string",
    Kind.BYTEA: "binary",
    Kind.DATE: "date",
    Kind.TIME: "bigint",
    Kind.TIMESTAMP: "timestamp_ntz",
    Kind.TIMESTAMPTZ: "timestamp_ltz",
    Kind.INTERVAL: INTERVAL_DDL,
    Kind.JSONB: "string",
    Kind.UUID: "string",
    Kind.UNKNOWN: "string",
}


def ident(name: str) -> str:
    """Return a name as Spark SQL writes it.

    >>> print(ident("odd`name"))
    `odd``name`
    """
    return "`" + name.replace("`", "``") + "`"


def spark_type(type_: SqlType) -> str:
    """Return a type as Spark DDL; TIME is microseconds since midnight, INTERVAL its three parts.

    >>> from floodmark.scalar.types import TIMESTAMP, list_of, numeric
    >>> spark_type(list_of(numeric(18, 2)))
    'array<decimal(18,2)>'
    >>> spark_type(TIMESTAMP)
    'timestamp_ntz'
    """
    match type_:
        case SqlType(Kind.NUMERIC, precision, scale):
            return f"decimal({precision},{scale})"
        case SqlType(Kind.LIST, element=SqlType() as element):
            return f"array<{spark_type(element)}>"
        case SqlType(Kind.MAP, element=SqlType() as value, key=SqlType() as key):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case SqlType(Kind.STRUCT, fields=fields):
            return f"struct<{','.join(f'{ident(f.name)}:{spark_type(f.type)}' for f in fields)}>"
        case _:
            return _SIMPLE[type_.kind]


def nullable_ddl(schema: Iterable[Field]) -> str:
    """Return a schema as a DDL string in which every column takes NULLs, as rows at rest do."""
    return ddl(replace(f, nullable=True) for f in schema)


def ddl(schema: Iterable[Field]) -> str:
    """Return a schema as the DDL string that `DataFrameReader.schema` and `createDataFrame` take.

    >>> from floodmark.scalar.types import BIGINT, Field, VARCHAR
    >>> ddl([Field("id", BIGINT, nullable=False), Field("the name", VARCHAR)])
    '`id` bigint NOT NULL, `the name` string'
    """
    return ", ".join(
        f"{ident(f.name)} {spark_type(f.type)}{'' if f.nullable else ' NOT NULL'}" for f in schema
    )
