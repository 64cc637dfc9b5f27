"""The Delta actions that give a table other columns, and the features that their types need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deltalake import DeltaTable

from floodmark.storage.delta.delta_rs import open_table
from floodmark.storage.objects.contract import Objects

_NTZ = "timestampNtz"
_WITHOUT_FEATURES = 2
"""Up to this version a writer knows all features of a table without their names."""
_LEGACY = ("appendOnly", "invariants")
"""What a writer of that version knows."""


def alter_actions(
    objects: Objects, schema: Mapping[str, Any], properties: Mapping[str, str]
) -> list[str]:
    """Return the actions, as lines of a commit; `schema` is the Delta JSON schema.

    `properties` are added to those that the table has.
    """
    table = open_table(objects)
    known = table.metadata()
    metadata = {
        "id": known.id,
        "name": known.name,
        "description": known.description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": list(known.partition_columns),
        "configuration": {**known.configuration, **properties},
        "createdTime": known.created_time,
    }
    actions = [{"metaData": {k: v for k, v in metadata.items() if v is not None}}]
    return [json.dumps(action, ensure_ascii=False) for action in _protocol(table, schema) + actions]


def _protocol(table: DeltaTable, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the action that raises the protocol for timestamps without a zone, where needed."""
    protocol = table.protocol()
    readers, writers = protocol.reader_features or [], protocol.writer_features or []
    if not _has_ntz(schema) or _NTZ in readers:
        return []
    legacy = _LEGACY if protocol.min_writer_version <= _WITHOUT_FEATURES else ()
    return [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": sorted({*readers, _NTZ}),
                "writerFeatures": sorted({*writers, *legacy, _NTZ}),
            }
        }
    ]


def _has_ntz(type_: Any) -> bool:
    match type_:
        case "timestamp_ntz":
            return True
        case {"fields": fields}:
            return any(_has_ntz(f["type"]) for f in fields)
        case {"elementType": element}:
            return _has_ntz(element)
        case {"keyType": key, "valueType": value}:
            return _has_ntz(key) or _has_ntz(value)
        case _:
            return False
