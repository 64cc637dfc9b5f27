"""Reading a Delta log: a checkpoint and the commits after it, replayed into a snapshot.

Only what the next version adds is read again, so following a table costs the same however long its
history is. The log folder is never listed on the way to the newest version.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

from floodmark.errors import DataError
from floodmark.scalar.types import Schema
from floodmark.storage import statistics
from floodmark.storage.delta_commit import Action as Action
from floodmark.storage.delta_commit import actions_of
from floodmark.storage.delta_types import sql_schema
from floodmark.storage.local_files import flush
from floodmark.storage.plain_files import check_plain, plain, read_plain
from floodmark.storage.table import DataFile

LOG = "_delta_log"
LAST_CHECKPOINT = "_last_checkpoint"
_READABLE = frozenset({"timestampNtz", "deletionVectors", "vacuumProtocolCheck", "columnMapping"})
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.\d{10})?\.parquet")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table at one version, replayed; version -1 is the state before the first commit."""

    version: int = -1
    schema: Schema = ()
    files: Mapping[str, DataFile] = None  # type: ignore[assignment]
    transactions: Mapping[str, int] = None  # type: ignore[assignment]
    vectors: frozenset[str] = frozenset()
    """The files of which some rows are deleted by a vector."""
    identity: tuple[int, int] = (0, 0)
    """Inode and time of the newest commit: a table made anew has the same names."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", self.files or {})
        object.__setattr__(self, "transactions", self.transactions or {})


def commit_path(folder: Path, version: int) -> Path:
    """Return the path of a commit."""
    return folder / LOG / f"{version:020d}.json"


def is_commit(folder: Path, version: int) -> bool:
    """Tell whether there is a commit; E0435 for an emptied one, found without reading others."""
    try:
        size = commit_path(folder, version).stat().st_size
    except FileNotFoundError:
        return False
    return size > 0 or read_commit(folder, version) is not None


def is_begun(folder: Path) -> bool:
    """Tell whether a folder is a table: it has a first commit, or a checkpoint of later ones."""
    log = folder / LOG
    if commit_path(folder, 0).exists() or (log / LAST_CHECKPOINT).exists():
        return True
    return log.is_dir() and any(_CHECKPOINT.fullmatch(name) for name in os.listdir(log))


def read_commit(folder: Path, version: int) -> list[Action] | None:
    """Return the actions of a commit, or None when there is none; E0435 for a damaged one."""
    try:
        text = read_plain(commit_path(folder, version)).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    return actions_of(text, commit_path(folder, version))


def load(folder: Path, version: int | None = None) -> Snapshot | None:
    """Replay a table to its newest or a given version; None when that version is not there."""
    snapshot = _from_checkpoint(folder, version)
    snapshot = advance(folder, snapshot, version)
    if snapshot.vectors:
        _refuse_vectors(folder)
    if snapshot.version < 0 or (version is not None and snapshot.version != version):
        return None
    return snapshot


def advance(folder: Path, snapshot: Snapshot, version: int | None = None) -> Snapshot:
    """Replay the commits after a snapshot, up to the newest or the given version."""
    first = snapshot.version + 1
    last = first
    pending: list[Action] = []
    while version is None or last <= version:
        actions = read_commit(folder, last)
        if actions is None:
            break
        # A file that gets a deletion vector is removed and added in one commit, in any order.
        pending += sorted(actions, key=lambda action: "add" in action)
        last += 1
    if last == first:
        return snapshot
    newest = apply(snapshot, pending, folder)
    if newest.vectors:
        _refuse_vectors(folder)
    return replace(
        newest,
        version=last - 1,
        identity=identity_of(commit_path(folder, last - 1)),
    )


def apply(snapshot: Snapshot, actions: Iterable[Action], folder: Path) -> Snapshot:
    """Replay actions over a snapshot; the version stays as it is.

    Raises `DataError` E0456 for what cannot be in a log.
    """
    with _content_of(folder):
        return _applied(snapshot, actions, folder)


@contextmanager
def _content_of(folder: Path) -> Iterator[None]:
    """Turn what values of a log cannot be into E0456: whole JSON may say anything."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            "E0456",
            f"the Delta log of {folder.name} cannot be read: {type(error).__name__}: {error}",
            hint="restore the log from a backup, or remove what does not belong there; then "
            "RESUME what is suspended",
        ) from error


def _applied(snapshot: Snapshot, actions: Iterable[Action], folder: Path) -> Snapshot:
    schema = snapshot.schema
    files = dict(snapshot.files)
    transactions, vectors = dict(snapshot.transactions), set(snapshot.vectors)
    for action in actions:
        match action:
            case {"add": dict(add)}:
                file = _data_file(add, schema)
                files[file.path] = file
                (vectors.add if add.get("deletionVector") else vectors.discard)(file.path)
            case {"remove": dict(remove)}:
                path = unquote(remove["path"])
                files.pop(path, None)
                vectors.discard(path)
            case {"txn": dict(txn)}:
                transactions[txn["appId"]] = txn["version"]
            case {"metaData": dict(metadata)}:
                _check_metadata(metadata, folder)
                schema = sql_schema(json.loads(metadata["schemaString"]))
            case {"protocol": dict(protocol)}:
                _check_protocol(protocol, folder)
    return replace(
        snapshot,
        schema=schema,
        files=files,
        transactions=transactions,
        vectors=frozenset(vectors),
    )


def is_current(folder: Path, snapshot: Snapshot) -> bool:
    """Tell whether the snapshot's own commit is still the one on the disk."""
    found = identity_of(commit_path(folder, snapshot.version))
    return found == snapshot.identity and found != (0, 0)


def commit_versions(folder: Path) -> set[int]:
    """Return the versions whose commits are there."""
    names = (folder / LOG).glob("*.json") if (folder / LOG).is_dir() else ()
    return {int(path.stem) for path in names if path.stem.isdigit()}


def checkpoint_versions(folder: Path) -> list[int]:
    """Return the versions that have a checkpoint, oldest first."""
    names = (path.name for path in (folder / LOG).glob("*.checkpoint*.parquet"))
    return sorted({int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name))})


def last_checkpoint(folder: Path) -> str | None:
    """Return the text that names the newest checkpoint of a folder; None where it has none."""
    from pyarrow import parquet as pq

    versions = checkpoint_versions(folder)
    if not versions:
        return None
    parts = sorted((folder / LOG).glob(f"{versions[-1]:020d}.checkpoint*.parquet"))
    size = sum(pq.read_metadata(plain(part)).num_rows for part in parts)
    several = {"parts": len(parts)} if len(parts) > 1 else {}
    return json.dumps({"version": versions[-1], "size": size, **several})


def added(actions: Iterable[Action]) -> list[str]:
    """Return the paths of the data files that a commit adds."""
    return [unquote(action["add"]["path"]) for action in actions if action.get("add")]


def added_files(actions: Iterable[Action]) -> list[DataFile]:
    """Return the data files that a commit adds, without their bounds."""
    return [_data_file(action["add"], ()) for action in actions if action.get("add")]


def removed(actions: Iterable[Action]) -> list[str]:
    """Return the paths of the data files that a commit removes."""
    return [unquote(action["remove"]["path"]) for action in actions if action.get("remove")]


def flush_checkpoint(folder: Path) -> None:
    """Wait until the newest checkpoint is on the disk: what it holds may be deleted then."""
    at = max(checkpoint_versions(folder), default=0)
    for path in (folder / LOG).glob(f"{at:020d}.checkpoint*.parquet"):
        flush(path)
    if (folder / LOG / "_last_checkpoint").exists():
        flush(folder / LOG / "_last_checkpoint")
    flush(folder / LOG)


def _from_checkpoint(folder: Path, version: int | None) -> Snapshot:
    at = _last_checkpoint(folder)
    if at is not None and version is not None and at > version:
        at = max((v for v in checkpoint_versions(folder) if v <= version), default=None)
    if at is None:
        return Snapshot()
    snapshot = Snapshot()
    for path in sorted((folder / LOG).glob(f"{at:020d}.checkpoint*.parquet")):
        snapshot = apply(snapshot, checkpoint_actions(path), folder)
    if not snapshot.schema:
        return Snapshot()
    return replace(snapshot, version=at, identity=identity_of(commit_path(folder, at)))


def _last_checkpoint(folder: Path) -> int | None:
    try:
        return int(json.loads(read_plain(folder / LOG / LAST_CHECKPOINT))["version"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


def checkpoint_actions(path: Path) -> Iterator[Action]:
    """Yield the actions of one file of a checkpoint; maps in them are lists of pairs."""
    from pyarrow import parquet as pq

    check_plain(path)
    known = set(pq.read_schema(path).names)
    rows = pq.read_table(
        path, columns=[c for c in ("protocol", "metaData", "txn", "add") if c in known]
    )
    # The schema comes first, because it gives the statistics of the files their types.
    for kind in ("protocol", "metaData", "txn", "add"):
        if kind in known:
            column = rows[kind].drop_null()
            yield from ({kind: value} for value in column.to_pylist())


def identity_of(path: Path) -> tuple[int, int]:
    """Return a file's inode and time: inodes alone are used again for the next file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def _data_file(add: Mapping[str, Any], schema: Schema) -> DataFile:
    found = statistics.from_json(add.get("stats"), schema)
    return DataFile(
        unquote(add["path"]), int(add["size"]), found.rows, found.low, found.high, found.nulls
    )


def _refuse_vectors(folder: Path) -> NoReturn:
    purge = f"REORG TABLE delta.`{folder}` APPLY (PURGE)"
    raise DataError(
        "E0407",
        f"the Delta table {folder.name} has deletion vectors; {purge} in Spark takes them away",
        hint="do that, and set its property delta.enableDeletionVectors to false, so that no new "
        "ones come; then RESUME what is suspended: what was deleted is taken in as deletes",
    )


def _check_metadata(metadata: Mapping[str, Any], folder: Path) -> None:
    if metadata.get("partitionColumns"):
        _refuse(folder, "is partitioned", "a table without partition columns")
    mode = dict(metadata.get("configuration") or {}).get("delta.columnMapping.mode", "none")
    if mode != "none":
        _refuse(folder, f"maps its columns by {mode}", "a table without column mapping")


def _check_protocol(protocol: Mapping[str, Any], folder: Path) -> None:
    unknown = set(protocol.get("readerFeatures") or ()) - _READABLE
    if unknown:
        features = ", ".join(sorted(unknown))
        _refuse(folder, f"needs {features}", "a table without these features")


def _refuse(folder: Path, problem: str, remedy: str) -> NoReturn:
    raise DataError("E0407", f"the Delta table {folder.name} {problem}", hint=f"use {remedy}")
