"""How a column of a source looks in Spark: the type that `Connector.read` gives it."""

from __future__ import annotations

from floodmark.catalog.types import Kind, Schema, SqlType

_PLAIN = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.SMALLINT: "SMALLINT",
    Kind.INT: "INT",
    Kind.BIGINT: "BIGINT",
    Kind.REAL: "FLOAT",
    Kind.DOUBLE: "DOUBLE",
    Kind.VARCHAR: "STRING",
    Kind.BYTEA: "BINARY",
    Kind.DATE: "DATE",
    Kind.TIME: "BIGINT",
    Kind.TIMESTAMP: "TIMESTAMP_NTZ",
    Kind.TIMESTAMPTZ: "TIMESTAMP_LTZ",
    Kind.INTERVAL: "STRUCT<months: INT, days: INT, micros: BIGINT>",
    Kind.JSONB: "STRING",
    Kind.UUID: "STRING",
}


def quoted(name: str) -> str:
    """Quote a name for Spark SQL.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Write text as a Spark SQL string literal.

    >>> print(literal("it's"))
    'it\\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def spark_type(type_: SqlType) -> str:
    """Return the Spark DDL of a type at rest.

    >>> from floodmark.catalog.types import BIGINT, list_of
    >>> spark_type(list_of(BIGINT))
    'ARRAY<BIGINT>'
    """
    match type_.kind:
        case Kind.NUMERIC:
            return f"DECIMAL({type_.precision},{type_.scale})"
        case Kind.LIST:
            assert type_.element is not None
            return f"ARRAY<{spark_type(type_.element)}>"
        case Kind.MAP:
            assert type_.key is not None and type_.element is not None
            return f"MAP<{spark_type(type_.key)}, {spark_type(type_.element)}>"
        case Kind.STRUCT:
            inner = ", ".join(f"{quoted(f.name)}: {spark_type(f.type)}" for f in type_.fields)
            return f"STRUCT<{inner}>"
        case kind:
            return _PLAIN[kind]


def spark_schema(schema: Schema) -> str:
    """Return the Spark DDL of a row."""
    return ", ".join(f"{quoted(f.name)} {spark_type(f.type)}" for f in schema)
