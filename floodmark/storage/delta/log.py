"""Reading of a Delta log: a checkpoint and the commits after it, replayed into a snapshot.

Only what the next version adds is read again, so following a table costs the same however long its
history is. The log folder is never listed on the way to the newest version.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

from floodmark.errors import DataError
from floodmark.scalar.types import Schema
from floodmark.storage.delta.commit import Action as Action, actions_of
from floodmark.storage.delta.types import sql_schema
from floodmark.storage.files import statistics
from floodmark.storage.objects.contract import Objects
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    from pyarrow import parquet as pq

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
    identity: str | None = None
    """The tag of the newest commit: a table made anew has the same names."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", self.files or {})
        object.__setattr__(self, "transactions", self.transactions or {})


def commit_key(version: int) -> str:
    """Return the key of a commit, relative to its table."""
    return f"{LOG}/{version:020d}.json"


def has_commit(table: Objects, version: int) -> bool:
    """Tell whether there is a commit, however damaged."""
    return table.head(commit_key(version)) is not None


def is_commit(table: Objects, version: int) -> bool:
    """Tell whether there is a commit; E0435 for an emptied one, found without reading others."""
    head = table.head(commit_key(version))
    return head is not None and (head.size > 0 or read_commit(table, version) is not None)


def is_begun(table: Objects) -> bool:
    """Tell whether a folder is a table: it has a first commit, or a checkpoint of later ones."""
    if has_commit(table, 0) or table.head(f"{LOG}/{LAST_CHECKPOINT}") is not None:
        return True
    return any(_CHECKPOINT.fullmatch(name) for name in names_in_log(table))


def names_in_log(table: Objects) -> list[str]:
    """Return the names of what lies in the log of a table, in order; none where it is no folder."""
    with suppress(NotADirectoryError):
        return [key.removeprefix(f"{LOG}/") for key in table.list(f"{LOG}/", deep=False)]
    return []


def read_commit(table: Objects, version: int) -> list[Action] | None:
    """Return the actions of a commit, or None when there is none; E0435 for a damaged one."""
    key = commit_key(version)
    stored = table.get(key)
    if stored is None:
        return None
    return actions_of(stored[0].decode("utf-8", "replace"), table.spark_url(key))


def load(table: Objects, version: int | None = None) -> Snapshot | None:
    """Replay a table to its newest or a given version; None when that version is not there."""
    snapshot = _from_checkpoint(table, version)
    snapshot = advance(table, snapshot, version)
    if snapshot.vectors:
        _refuse_vectors(table.place)
    if snapshot.version < 0 or (version is not None and snapshot.version != version):
        return None
    return snapshot


def advance(table: Objects, snapshot: Snapshot, version: int | None = None) -> Snapshot:
    """Replay the commits after a snapshot, up to the newest or the given version."""
    first = snapshot.version + 1
    last = first
    pending: list[Action] = []
    while version is None or last <= version:
        actions = read_commit(table, last)
        if actions is None:
            break
        # A file that gets a deletion vector is removed and added in one commit, in any order.
        pending += sorted(actions, key=lambda action: "add" in action)
        last += 1
    if last == first:
        return snapshot
    newest = apply(snapshot, pending, table.place)
    if newest.vectors:
        _refuse_vectors(table.place)
    return replace(
        newest,
        version=last - 1,
        identity=identity_of(table, last - 1),
    )


def apply(snapshot: Snapshot, actions: Iterable[Action], place: str) -> Snapshot:
    """Replay actions over a snapshot of the table at a place; the version stays as it is.

    Raises `DataError` E0456 for what cannot be in a log.
    """
    with _content_of(place):
        return _apply(snapshot, actions, place)


@contextmanager
def _content_of(place: str) -> Iterator[None]:
    """Turn what values of a log cannot be into E0456: whole JSON may say anything."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            "E0456",
            f"the Delta log of {_name(place)} cannot be read: {type(error).__name__}: {error}",
            hint="restore the log from a backup, or remove files that do not belong there; then "
            "RESUME the suspended objects",
        ) from error


def _apply(snapshot: Snapshot, actions: Iterable[Action], place: str) -> Snapshot:
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
                _check_metadata(metadata, place)
                schema = sql_schema(json.loads(metadata["schemaString"]))
            case {"protocol": dict(protocol)}:
                _check_protocol(protocol, place)
    return replace(
        snapshot,
        schema=schema,
        files=files,
        transactions=transactions,
        vectors=frozenset(vectors),
    )


def is_current(table: Objects, snapshot: Snapshot) -> bool:
    """Tell whether the snapshot's own commit is still the one in the log."""
    found = identity_of(table, snapshot.version)
    return found is not None and found == snapshot.identity


def commit_versions(table: Objects) -> set[int]:
    """Return the versions whose commits are there."""
    stems = [n.removesuffix(".json") for n in names_in_log(table) if n.endswith(".json")]
    return {int(stem) for stem in stems if stem.isdigit()}


def checkpoint_versions(table: Objects) -> list[int]:
    """Return the versions that have a checkpoint, oldest first."""
    found = (_CHECKPOINT.fullmatch(name) for name in names_in_log(table))
    return sorted({int(match[1]) for match in found if match is not None})


def checkpoint_names(table: Objects, version: int) -> list[str]:
    """Return the names of the files of a checkpoint, in the order of its parts."""
    start = f"{LOG}/{version:020d}.checkpoint"
    names = (key.removeprefix(f"{LOG}/") for key in table.list(start, deep=False))
    return [name for name in names if name.removesuffix("/").endswith(".parquet")]


def last_checkpoint(table: Objects) -> str | None:
    """Return the text that names the newest checkpoint of a table; None where it has none."""
    versions = checkpoint_versions(table)
    if not versions:
        return None
    parts = checkpoint_names(table, versions[-1])
    size = sum(_parquet(table, part).metadata.num_rows for part in parts)
    several = {"parts": len(parts)} if len(parts) > 1 else {}
    return json.dumps({"version": versions[-1], "size": size, **several})


def paths_to_add(actions: Iterable[Action]) -> list[str]:
    """Return the paths of the data files that a commit adds."""
    return [unquote(action["add"]["path"]) for action in actions if action.get("add")]


def files_to_add(actions: Iterable[Action]) -> list[DataFile]:
    """Return the data files that a commit adds, without their bounds."""
    return [_data_file(action["add"], ()) for action in actions if action.get("add")]


def paths_to_remove(actions: Iterable[Action]) -> list[str]:
    """Return the paths of the data files that a commit removes."""
    return [unquote(action["remove"]["path"]) for action in actions if action.get("remove")]


def flush_checkpoint(table: Objects) -> None:
    """Wait until the newest checkpoint is on the disk: what it holds may be deleted then."""
    names = checkpoint_names(table, max(checkpoint_versions(table), default=0))
    if table.head(f"{LOG}/{LAST_CHECKPOINT}") is not None:
        names.append(LAST_CHECKPOINT)
    table.sub_objects(LOG).flush(names)


def _from_checkpoint(table: Objects, version: int | None) -> Snapshot:
    at = _last_checkpoint(table)
    if at is not None and version is not None and at > version:
        at = max((v for v in checkpoint_versions(table) if v <= version), default=None)
    if at is None:
        return Snapshot()
    snapshot = Snapshot()
    for name in checkpoint_names(table, at):
        snapshot = apply(snapshot, checkpoint_actions(table, name), table.place)
    if not snapshot.schema:
        return Snapshot()
    return replace(snapshot, version=at, identity=identity_of(table, at))


def _last_checkpoint(table: Objects) -> int | None:
    stored = table.get(f"{LOG}/{LAST_CHECKPOINT}")
    try:
        return None if stored is None else int(json.loads(stored[0])["version"])
    except (ValueError, KeyError):
        return None


def checkpoint_actions(table: Objects, name: str) -> Iterator[Action]:
    """Yield the actions of one file of a checkpoint; maps in them are lists of pairs."""
    file = _parquet(table, name)
    known = set(file.schema_arrow.names)
    # The schema comes first, because it gives the statistics of the files their types.
    kinds = [kind for kind in ("protocol", "metaData", "txn", "add") if kind in known]
    rows = file.read(columns=kinds)
    for kind in kinds:
        column = rows[kind].drop_null()
        yield from ({kind: value} for value in column.to_pylist())


def _parquet(table: Objects, name: str) -> pq.ParquetFile:
    """Return a file of a checkpoint; `FileNotFoundError` where it has gone."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    stored = table.get(f"{LOG}/{name.removesuffix('/')}")
    if stored is None:
        raise FileNotFoundError(errno.ENOENT, "not there", table.spark_url(f"{LOG}/{name}"))
    return pq.ParquetFile(pa.BufferReader(stored[0]))


def identity_of(table: Objects, version: int) -> str | None:
    """Return the tag of a commit; None where it is not there."""
    head = table.head(commit_key(version))
    return None if head is None else head.tag


def _data_file(add: Mapping[str, Any], schema: Schema) -> DataFile:
    facts = statistics.from_json(add.get("stats"), schema)
    return DataFile(
        unquote(add["path"]), int(add["size"]), facts.rows, facts.low, facts.high, facts.nulls
    )


def _refuse_vectors(place: str) -> NoReturn:
    purge = f"REORG TABLE delta.`{place}` APPLY (PURGE)"
    raise DataError(
        "E0407",
        f"the Delta table {_name(place)} has deletion vectors; {purge} in Spark takes them away",
        hint="do that, and set its property delta.enableDeletionVectors to false, so that no new "
        "ones come; then RESUME the suspended objects: the deleted rows are taken in as deletes",
    )


def _check_metadata(metadata: Mapping[str, Any], place: str) -> None:
    if metadata.get("partitionColumns"):
        _refuse(place, "is partitioned", "a table without partition columns")
    mode = dict(metadata.get("configuration") or {}).get("delta.columnMapping.mode", "none")
    if mode != "none":
        _refuse(place, f"maps its columns by {mode}", "a table without column mapping")


def _check_protocol(protocol: Mapping[str, Any], place: str) -> None:
    unknown = set(protocol.get("readerFeatures") or ()) - _READABLE
    if unknown:
        features = ", ".join(sorted(unknown))
        _refuse(place, f"needs {features}", "a table without these features")


def _refuse(place: str, problem: str, remedy: str) -> NoReturn:
    raise DataError("E0407", f"the Delta table {_name(place)} {problem}", hint=f"use {remedy}")


def _name(place: str) -> str:
    return place.rpartition("/")[2]
