"""Tables as ordinary Delta tables on a local disk.

Spark writes Parquet, this module commits it: one file in the log per commit, put in place with a
hard link that fails when the version exists. delta-rs creates tables and writes checkpoints.
Why the commit is not delta-rs': docs/adr/0002.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deltalake import DeltaTable
from deltalake import Schema as DeltaSchema
from deltalake.exceptions import DeltaError

from floodmark.catalog.types import Schema
from floodmark.errors import DataError, TransientError
from floodmark.storage import delta_columns, delta_log, statistics
from floodmark.storage.delta_clean import delete_unneeded
from floodmark.storage.delta_log import Action, Snapshot
from floodmark.storage.delta_types import delta_schema, sql_schema
from floodmark.storage.local_files import (
    LocalFiles,
    disk_errors,
    put_if_absent,
    reading_log,
    remove_folder,
)
from floodmark.storage.table import (
    DataFile,
    Handle,
    check_change,
    raise_conflict,
    raise_missing_version,
    refuse_recorded,
    refuse_schema,
)
from floodmark.storage.warehouse import GONE, engine_folder

ENGINE = "floodmark/0.1.0"
_KEPT = 8
"""Snapshots kept per table: an epoch opens its upstreams at a few versions, again and again."""


class DeltaStore(LocalFiles):
    """The Delta tables below one root; safe to share between threads."""

    def __init__(self, root: str | Path) -> None:
        super().__init__(root)
        self._recent: dict[str, dict[int, Snapshot]] = {}
        self._lock = threading.Lock()

    @reading_log
    def exists(self, table: str) -> bool:
        """Tell whether the table has been created."""
        return delta_log.is_begun(self.folder(table))

    @reading_log
    def create(
        self, table: str, schema: Schema, *, properties: Mapping[str, str] | None = None
    ) -> Handle:
        """Create an empty table; one that exists with the same schema is opened instead.

        Raises `DataError` E0403 for column names Delta cannot hold, E0404 for another schema.
        """
        folder = self.folder(table)
        wanted = delta_schema(schema)
        if delta_log.load(folder) is None:
            with disk_errors(table):
                folder.mkdir(parents=True, exist_ok=True)
                _create(folder, json.dumps(wanted), properties)
        handle = self.open(table)
        if handle.schema != sql_schema(wanted):
            refuse_schema(table)
        return handle

    @reading_log
    def open(self, table: str, version: int | None = None) -> Handle:
        """Open the newest or a pinned version; a missing one is a `DataError` E0402."""
        folder = self.folder(table)
        known = self._nearest(table, version)
        if known is None:
            known = delta_log.load(folder, version)
        if known is None:
            raise_missing_version(table, version)
        handle = self._follow(table, known, version)
        if version is not None and handle.version != version:
            raise_missing_version(table, version)
        return handle

    def commit(
        self,
        handle: Handle,
        *,
        adds: Sequence[DataFile] = (),
        removes: Sequence[DataFile] = (),
        app: str | None = None,
        epoch: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        data_change: bool = True,
        schema: Schema | None = None,
    ) -> Handle:
        """Commit once, on exactly the handle's version; see `Store.commit`."""
        check_change(handle, adds, removes, app, epoch)
        folder = self.folder(handle.table)
        version = handle.version + 1
        actions = _actions(handle, adds, removes, app, epoch, metadata, data_change)
        if schema is not None:
            # Statistics of files are read by the columns: these come first.
            actions[1:1] = delta_columns.altered(folder, delta_schema(schema))
        # A version whose log has been cleaned up is long past: writing after it would be lost.
        present = delta_log.commit_path(folder, handle.version).exists()
        text = "".join(action + "\n" for action in actions)
        with disk_errors(handle.table):
            done = present and put_if_absent(delta_log.commit_path(folder, version), text)
        if not done:
            newest = self.open(handle.table)
            refuse_recorded(newest, app, epoch)
            raise_conflict(handle, newest.version)
        if schema is not None:
            return self._follow(handle.table, handle.token, version)
        return self._remember(handle, adds, removes, app, epoch)

    @reading_log
    def history(self, table: str, after: int) -> list[Mapping[str, Any]]:
        """Return the commit infos of the versions after `after`, oldest first."""
        folder = self.folder(table)
        newest = self.open(table).version
        infos: list[Mapping[str, Any]] = []
        for version in range(after + 1, newest + 1):
            actions = delta_log.read_commit(folder, version)
            if actions is None:
                raise_missing_version(table, version)
            infos.append(_info(version, actions))
        return infos

    @reading_log
    def version_at(self, table: str, app: str, epoch: int) -> int | None:
        """Return the newest version whose recorded transaction of `app` is at most `epoch`."""
        folder = self.folder(table)
        version = self.open(table).version
        while (actions := delta_log.read_commit(folder, version)) is not None:
            recorded = _recorded(actions, app)
            if recorded is not None and recorded <= epoch:
                return _last_before(folder, version, app, epoch)
            version -= 1
        kept = delta_log.load(folder, version) if version >= 0 else None
        recorded = kept.transactions.get(app) if kept else None
        if recorded is None or recorded > epoch:
            return None
        return _last_before(folder, version, app, epoch)

    @reading_log
    def settled(self, table: str, version: int) -> int:
        """Return the newest version with the rows and transactions of the given one."""
        folder = self.folder(table)
        while (actions := delta_log.read_commit(folder, version + 1)) is not None:
            if any("txn" in a or "metaData" in a for a in actions) or _changes_data(actions):
                break
            version += 1
        return version

    @reading_log
    def checkpoint(self, table: str) -> None:
        """Write a log checkpoint; contents do not change."""
        try:
            with disk_errors(table):
                DeltaTable(str(self.folder(table))).create_checkpoint()
        except DeltaError as error:
            raise TransientError(
                "E0508",
                f"a checkpoint of the log of {table} cannot be written",
                detail=str(error),
                hint="look at the disk; readers do without, and the next maintenance tries again",
            ) from error

    @reading_log
    def vacuum(self, table: str, *, retain_versions_from: int, written_before: datetime) -> int:
        """Delete orphans and files no version from the given one on needs; return how many."""
        kept = self.open(table, retain_versions_from)
        return delete_unneeded(self.folder(table), kept.token, written_before.timestamp())

    def drop(self, table: str) -> None:
        """Remove the table, its folder included; half of one is never a table."""
        with self._lock:
            self._recent.pop(table, None)
        remove_folder(self.folder(table), engine_folder(self.root) / GONE)

    def _nearest(self, table: str, version: int | None) -> Snapshot | None:
        """Return the newest snapshot at hand from which the version can be reached."""
        with self._lock:
            recent = list(self._recent.get(table, {}).values())
        usable = [s for s in recent if version is None or s.version <= version]
        nearest = max(usable, key=lambda snapshot: snapshot.version, default=None)
        if nearest is None or not delta_log.is_current(self.folder(table), nearest):
            return None
        return nearest

    def _follow(self, table: str, snapshot: Snapshot, version: int | None = None) -> Handle:
        return self._keep(table, delta_log.advance(self.folder(table), snapshot, version))

    def _keep(self, table: str, snapshot: Snapshot) -> Handle:
        with self._lock:
            recent = self._recent.setdefault(table, {})
            recent.pop(snapshot.version, None)
            recent[snapshot.version] = snapshot
            while len(recent) > _KEPT:
                del recent[next(iter(recent))]
        return _handle(table, snapshot)

    def _remember(
        self,
        handle: Handle,
        adds: Sequence[DataFile],
        removes: Sequence[DataFile],
        app: str | None,
        epoch: int | None,
    ) -> Handle:
        before: Snapshot = handle.token
        gone = {file.path for file in removes}
        files = {path: file for path, file in before.files.items() if path not in gone}
        files.update((file.path, file) for file in adds)
        transactions = dict(before.transactions)
        if app is not None and epoch is not None:
            transactions[app] = epoch
        version = handle.version + 1
        after = replace(
            before,
            version=version,
            files=files,
            transactions=transactions,
            identity=delta_log.identity_of(
                delta_log.commit_path(self.folder(handle.table), version)
            ),
        )
        return self._keep(handle.table, after)


def _handle(table: str, snapshot: Snapshot) -> Handle:
    return Handle(
        table=table,
        version=snapshot.version,
        schema=snapshot.schema,
        files=tuple(snapshot.files.values()),
        transactions=snapshot.transactions,
        token=snapshot,
    )


def _create(folder: Path, schema: str, properties: Mapping[str, str] | None) -> None:
    try:
        DeltaTable.create(
            str(folder),
            DeltaSchema.from_json(schema),
            mode="error",
            configuration=dict(properties or {}),
            raise_if_key_not_exists=False,
        )
    except DeltaError as error:
        # Another process that created it first is as good.
        if delta_log.load(folder) is None:
            raise DataError(
                "E0408",
                f"the Delta table {folder.name} cannot be created",
                detail=str(error),
                hint="look at the columns and table properties that the message names",
            ) from error


def _actions(
    handle: Handle,
    adds: Sequence[DataFile],
    removes: Sequence[DataFile],
    app: str | None,
    epoch: int | None,
    metadata: Mapping[str, Any] | None,
    data_change: bool,
) -> list[str]:
    now = int(time.time() * 1000)
    actions: list[Action] = [_commit_info(handle, bool(removes), metadata, data_change, now)]
    if app is not None:
        actions.append({"txn": {"appId": app, "version": epoch, "lastUpdated": now}})
    actions += [
        {
            "remove": {
                "path": _encode(file.path),
                "deletionTimestamp": now,
                "dataChange": data_change,
                "extendedFileMetadata": True,
                "partitionValues": {},
                "size": file.size,
            }
        }
        for file in removes
    ]
    actions += [
        {
            "add": {
                "path": _encode(file.path),
                "partitionValues": {},
                "size": file.size,
                "modificationTime": now,
                "dataChange": data_change,
                "stats": statistics.to_json(file),
            }
        }
        for file in adds
    ]
    return [json.dumps(action, ensure_ascii=False) for action in actions]


def _commit_info(
    handle: Handle,
    removing: bool,
    metadata: Mapping[str, Any] | None,
    data_change: bool,
    now: int,
) -> Action:
    info: dict[str, Any] = {
        "timestamp": now,
        "operation": "WRITE" if data_change else "OPTIMIZE",
        "operationParameters": {"mode": "Append"} if data_change else {},
        "readVersion": handle.version,
        "isolationLevel": "Serializable",
        "isBlindAppend": not removing,
        "engineInfo": ENGINE,
        "txnId": str(uuid.uuid4()),
    }
    if metadata is not None:
        info["userMetadata"] = json.dumps(metadata, ensure_ascii=False)
    return {"commitInfo": info}


def _encode(path: str) -> str:
    return quote(path, safe="/=~-._")


def _info(version: int, actions: Sequence[Action]) -> Mapping[str, Any]:
    infos = (action["commitInfo"] for action in actions if "commitInfo" in action)
    info: Mapping[str, Any] = next(infos, {})
    try:
        metadata = json.loads(info.get("userMetadata") or "{}")
    except ValueError:
        metadata = {}
    return {
        "version": version,
        "operation": info.get("operation", "UNKNOWN"),
        "metadata": metadata if isinstance(metadata, dict) else {},
        "data_change": _changes_data(actions),
        "engine": info.get("engineInfo"),
    }


def _changes_data(actions: Sequence[Action]) -> bool:
    files = (action.get("add") or action.get("remove") for action in actions)
    return any(file.get("dataChange", True) for file in files if file)


def _recorded(actions: Sequence[Action], app: str) -> int | None:
    recorded: int | None = None
    for action in actions:
        if (txn := action.get("txn")) and txn["appId"] == app:
            recorded = int(txn["version"])
    return recorded


def _last_before(folder: Path, version: int, app: str, epoch: int) -> int:
    """Return the last version in a row from `version` on that records nothing later."""
    while (actions := delta_log.read_commit(folder, version + 1)) is not None:
        recorded = _recorded(actions, app)
        if recorded is not None and recorded > epoch:
            break
        version += 1
    return version
