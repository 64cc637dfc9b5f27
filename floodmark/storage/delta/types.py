"""SQL types as Delta types, and back.

Types that Delta lacks are stored as the nearest physical type; the column's metadata key
`floodmark.type` keeps the SQL type, so that a schema comes back as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, assert_never

from floodmark.errors import DataError
from floodmark.scalar.types import Field, Kind, Schema, SqlType, StructField

TYPE_KEY = "floodmark.type"
NOT_NULL_KEY = "floodmark.not_null"
_FORBIDDEN = re.compile(r"[ ,;{}()\n\t=]")
_SIMPLE: Mapping[str, Kind] = {
    "boolean": Kind.BOOLEAN,
    "byte": Kind.SMALLINT,
    "short": Kind.SMALLINT,
    "integer": Kind.INT,
    "long": Kind.BIGINT,
    "float": Kind.REAL,
    "double": Kind.DOUBLE,
    "string": Kind.VARCHAR,
    "binary": Kind.BYTEA,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMPTZ,
    "timestamp_ntz": Kind.TIMESTAMP,
}


def delta_schema(schema: Schema) -> dict[str, Any]:
    """Return the Delta JSON schema of a relation.

    Raises `DataError` E0403 for column names that Delta cannot hold.
    """
    _check_names([f.name for f in schema])
    return {"type": "struct", "fields": [_delta_field(f) for f in schema]}


def sql_schema(delta: Mapping[str, Any]) -> Schema:
    """Return the relation of a Delta JSON schema; an unknown type is a `DataError` E0405."""
    return tuple(_sql_field(f) for f in delta["fields"])


def delta_type(type_: SqlType) -> Any:
    """Return the Delta type of a SQL type: a name, or an object for a nested type.

    >>> from floodmark.scalar.types import TIMESTAMP, numeric
    >>> delta_type(TIMESTAMP), delta_type(numeric(18, 2))
    ('timestamp_ntz', 'decimal(18,2)')
    """
    match type_.kind:
        case Kind.BOOLEAN | Kind.DATE | Kind.DOUBLE:
            return {Kind.BOOLEAN: "boolean", Kind.DATE: "date", Kind.DOUBLE: "double"}[type_.kind]
        case Kind.SMALLINT:
            return "short"
        case Kind.INT:
            return "integer"
        case Kind.BIGINT | Kind.TIME:
            return "long"
        case Kind.NUMERIC:
            return f"decimal({type_.precision},{type_.scale})"
        case Kind.REAL:
            return "float"
        case Kind.VARCHAR | Kind.JSONB | Kind.UUID:
            return "string"
        case Kind.BYTEA:
            return "binary"
        case Kind.TIMESTAMP:
            return "timestamp_ntz"
        case Kind.TIMESTAMPTZ:
            return "timestamp"
        case Kind.INTERVAL:
            return _struct([("months", "integer"), ("days", "integer"), ("micros", "long")])
        case Kind.LIST:
            assert type_.element is not None
            element = delta_type(type_.element)
            return {"type": "array", "elementType": element, "containsNull": True}
        case Kind.MAP:
            assert type_.key is not None and type_.element is not None
            return {
                "type": "map",
                "keyType": delta_type(type_.key),
                "valueType": delta_type(type_.element),
                "valueContainsNull": True,
            }
        case Kind.STRUCT:
            _check_names([f.name for f in type_.fields])
            return _struct([(f.name, delta_type(f.type)) for f in type_.fields])
        case Kind.UNKNOWN:
            raise AssertionError("a stored column has a known type")
        case _:
            assert_never(type_.kind)


def sql_type(delta: Any) -> SqlType:
    """Return the SQL type of a Delta type that carries no `floodmark.type`."""
    match delta:
        case str() if delta in _SIMPLE:
            return SqlType(_SIMPLE[delta])
        case str() if match := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", delta):
            return SqlType(Kind.NUMERIC, precision=int(match[1]), scale=int(match[2]))
        case {"type": "array", "elementType": element}:
            return SqlType(Kind.LIST, element=sql_type(element))
        case {"type": "map", "keyType": key, "valueType": value}:
            return SqlType(Kind.MAP, key=sql_type(key), element=sql_type(value))
        case {"type": "struct", "fields": fields}:
            return SqlType(
                Kind.STRUCT,
                fields=tuple(StructField(f["name"], sql_type(f["type"])) for f in fields),
            )
        case _:
            raise DataError(
                "E0405",
                f"a column of the Delta type {delta!r} has no SQL type",
                hint="cast the column to a supported type in the table",
            )


def type_to_json(type_: SqlType) -> dict[str, Any]:
    """Return a JSON form of a SQL type that `type_from_json` reads back."""
    data: dict[str, Any] = {"kind": type_.kind.name}
    if type_.kind is Kind.NUMERIC:
        data |= {"precision": type_.precision, "scale": type_.scale}
    if type_.element is not None:
        data["element"] = type_to_json(type_.element)
    if type_.key is not None:
        data["key"] = type_to_json(type_.key)
    if type_.fields:
        data["fields"] = [[f.name, type_to_json(f.type)] for f in type_.fields]
    return data


def type_from_json(data: Mapping[str, Any]) -> SqlType:
    """Read the JSON form of a SQL type."""
    return SqlType(
        Kind[data["kind"]],
        precision=data.get("precision"),
        scale=data.get("scale"),
        element=type_from_json(data["element"]) if "element" in data else None,
        key=type_from_json(data["key"]) if "key" in data else None,
        fields=tuple(StructField(n, type_from_json(t)) for n, t in data.get("fields", ())),
    )


def _struct(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in fields],
    }


def _delta_field(field: Field) -> dict[str, Any]:
    physical = delta_type(field.type)
    metadata: dict[str, str] = {}
    if sql_type(physical) != field.type:
        metadata[TYPE_KEY] = json.dumps(type_to_json(field.type))
    if not field.nullable:
        # As a Delta constraint it would need the feature `invariants`, which delta-rs leaves out of
        # the protocol: delta-spark then refuses the table.
        metadata[NOT_NULL_KEY] = "true"
    return {
        "name": field.name,
        "type": physical,
        "nullable": True,
        "metadata": metadata,
    }


def _sql_field(delta: Mapping[str, Any]) -> Field:
    metadata = delta.get("metadata") or {}
    logical = metadata.get(TYPE_KEY)
    type_ = sql_type(delta["type"]) if logical is None else type_from_json(json.loads(logical))
    nullable = delta.get("nullable", True) and NOT_NULL_KEY not in metadata
    return Field(delta["name"], type_, nullable)


def _check_names(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or _FORBIDDEN.search(name):
            problem = "holds a character that Delta does not allow: one of ' ,;{}()=', tab, newline"
        elif name.lower() in seen:
            problem = "differs from another one in upper and lower case only"
        else:
            seen.add(name.lower())
            continue
        raise DataError(
            "E0403",
            f"the column name {name!r} {problem}",
            hint="give the column another name; in a view, with AS",
        )
