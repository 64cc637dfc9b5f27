"""Commits of a Delta log as text: writing our own, reading and checking all.

A commit of the engine counts its actions in `userMetadata`, so that one that was cut off is not
taken for a smaller one. Commits of other programs have no count: they only have to be whole lines.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import quote

from floodmark.errors import DataError
from floodmark.storage.files import statistics
from floodmark.storage.records.text import refuse_newer_field, refuse_newer_format
from floodmark.storage.records.upgrades import FORMAT
from floodmark.storage.table import DataFile, Handle

ENGINE = "floodmark/0.1.0"
_OURS = "floodmark/"
_SHAPES: Mapping[str, Mapping[str, type]] = {
    "add": {"path": str},
    "remove": {"path": str},
    "cdc": {"path": str},
    "txn": {"appId": str, "version": int},
    "metaData": {"schemaString": str},
    "protocol": {},
    "commitInfo": {},
}
"""What each kind of action has at least; what is of no kind that is known is passed over."""
_NOTES = frozenset(
    ("format", "actions", "catalog_version", "record", "epoch", "attempt", "told", "step",
     "maintenance", "backfill", "sink")
)  # fmt: skip
"""What a commit of the engine may say of itself."""

Action = Mapping[str, Any]


def commit_text(
    handle: Handle,
    adds: Sequence[DataFile],
    removes: Sequence[DataFile],
    transaction: tuple[str, int] | None,
    metadata: Mapping[str, Any] | None,
    *,
    data_change: bool,
    columns: Sequence[str] = (),
) -> str:
    """Return the lines of a commit on a handle; `columns` are actions that change those."""
    now = int(time.time() * 1000)
    actions: list[Action] = []
    if transaction is not None:
        app, epoch = transaction
        actions.append({"txn": {"appId": app, "version": epoch, "lastUpdated": now}})
    actions += [_remove(file, data_change, now) for file in removes]
    actions += [_add(file, data_change, now) for file in adds]
    note = {"format": FORMAT, **(metadata or {}), "actions": 1 + len(columns) + len(actions)}
    first = _commit_info(handle, bool(removes), note, data_change, now)
    # Statistics of files are read by the columns: these come first.
    lines = [_line(first), *columns, *map(_line, actions)]
    return "".join(f"{line}\n" for line in lines)


def actions_of(text: str, place: str) -> list[Action]:
    """Return the actions of the text of a commit, which lies at a place.

    Raises `DataError` E0435 for one that is empty, cut off, miscounted, another version's or has
    what is no action, E0430 for one of a newer format or with a field that is not known.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        _raise_damaged(place, "is empty")
    try:
        actions = [json.loads(line) for line in lines]
    except ValueError as error:
        _raise_damaged(place, f"is not whole: {error}")
    if not all(isinstance(action, dict) for action in actions):
        _raise_damaged(place, "is not whole: a line is no object")
    for action in actions:
        for kind in _SHAPES.keys() & action.keys():
            if action[kind] is not None and not _is_shaped(action[kind], _SHAPES[kind]):
                _raise_damaged(place, f"has an action `{kind}` that is none")
    info = _info_of(actions)
    table, name = _split(place)
    if str(info.get("engineInfo")).startswith(_OURS):
        note = metadata_of(info)
        format = note.get("format", 0)
        if not isinstance(format, int):
            _raise_damaged(place, f"has the format {format!r}, which is none")
        if format > FORMAT:
            refuse_newer_format(f"the commit {name} of {table}", format)
        if unknown := note.keys() - _NOTES:
            why = f"{', '.join(sorted(unknown))} is not known"
            refuse_newer_field(f"the commit {name} of {table}", why)
        counted = note.get("actions", len(actions))
        if counted != len(actions):
            _raise_damaged(place, f"has {len(actions)} of its {counted} actions")
        # Ours follow the version that they read, or are no commits.
        number = int(name.removesuffix(".json"))
        version = int(info.get("readVersion", number - 1)) + 1
        if version != number:
            _raise_damaged(place, f"is the commit of version {version}")
    return actions


def _is_shaped(value: Any, shape: Mapping[str, type]) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(k), t) for k, t in shape.items())


def describe_commit(version: int, actions: Sequence[Action]) -> Mapping[str, Any]:
    """Return what `Store.history` tells of a commit."""
    info = _info_of(actions)
    metadata = metadata_of(info)
    return {
        "version": version,
        "operation": info.get("operation", "UNKNOWN"),
        "metadata": {k: v for k, v in metadata.items() if k not in ("format", "actions")},
        "format": metadata.get("format", 0),
        "data_change": changes_data(actions),
        "engine": info.get("engineInfo"),
        "transactions": {
            txn["appId"]: int(txn["version"]) for txn in _parts_of_kind(actions, "txn")
        },
    }


def metadata_of(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `userMetadata` of a commit info, empty where it is no JSON of an object."""
    try:
        metadata = json.loads(info.get("userMetadata") or "{}")
    except (TypeError, ValueError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def changes_data(actions: Sequence[Action]) -> bool:
    """Tell whether a commit changes rows, other than moving them between files."""
    files = (*_parts_of_kind(actions, "add"), *_parts_of_kind(actions, "remove"))
    return any(file.get("dataChange", True) for file in files)


def transaction_of(actions: Sequence[Action], app: str) -> int | None:
    """Return what a commit records for an application, or None."""
    numbers = [int(txn["version"]) for txn in _parts_of_kind(actions, "txn") if txn["appId"] == app]
    return numbers[-1] if numbers else None


def _parts_of_kind(actions: Sequence[Action], kind: str) -> list[Mapping[str, Any]]:
    return [action[kind] for action in actions if action.get(kind)]


def _info_of(actions: Sequence[Action]) -> Mapping[str, Any]:
    return next(iter(_parts_of_kind(actions, "commitInfo")), {})


def _line(action: Action) -> str:
    return json.dumps(action, ensure_ascii=False)


def _remove(file: DataFile, data_change: bool, now: int) -> Action:
    return {
        "remove": {
            "path": _encode(file.path),
            "deletionTimestamp": now,
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": {},
            "size": file.size,
        }
    }


def _add(file: DataFile, data_change: bool, now: int) -> Action:
    return {
        "add": {
            "path": _encode(file.path),
            "partitionValues": {},
            "size": file.size,
            "modificationTime": now,
            "dataChange": data_change,
            "stats": statistics.to_json(file),
        }
    }


def _commit_info(
    handle: Handle, removing: bool, metadata: Mapping[str, Any], data_change: bool, now: int
) -> Action:
    return {
        "commitInfo": {
            "timestamp": now,
            "operation": "WRITE" if data_change else "OPTIMIZE",
            "operationParameters": {"mode": "Append"} if data_change else {},
            "readVersion": handle.version,
            "isolationLevel": "Serializable",
            "isBlindAppend": not removing,
            "engineInfo": ENGINE,
            "txnId": str(uuid.uuid4()),
            "userMetadata": json.dumps(metadata, ensure_ascii=False),
        }
    }


def _encode(path: str) -> str:
    return quote(path, safe="/=~-._")


def _split(place: str) -> tuple[str, str]:
    """Return the place of a table and the name of a commit, of where that lies."""
    table, _, name = place.rsplit("/", 2)
    return table, name


def _raise_damaged(place: str, why: str) -> NoReturn:
    table, name = _split(place)
    raise DataError(
        "E0435",
        f"the commit {name} of the Delta table {table} {why}",
        hint="restore the file from a backup; where the epoch that wrote it is not sealed, "
        "remove it instead, and the next run writes it again",
    )
