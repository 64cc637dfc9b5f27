"""Commits of an external Delta table: the added, removed and change files of each.

Nothing is replayed but the first snapshot; a commit is read once, and names its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from floodmark.storage.delta import log as delta_log
from floodmark.storage.delta.log import Action
from floodmark.storage.objects.contract import Objects

_COMMIT = re.compile(r"(\d{20})\.json")
READABLE = frozenset(
    {
        "timestampNtz", "deletionVectors", "vacuumProtocolCheck", "appendOnly", "invariants",
        "checkConstraints", "changeDataFeed", "generatedColumns", "identityColumns",
        "domainMetadata", "rowTracking", "inCommitTimestamp", "clustering", "typeWidening",
    }
)  # fmt: skip
"""Features of tables that leave rows where Parquet readers find them."""


@dataclass(frozen=True, slots=True)
class FeedFile:
    """A file that a commit names: of `kind` add, remove or cdc.

    `path` is relative to the table, or absolute. `partition` has the values of the columns that are
    not in the file, as text. A file with `masked` rows has a deletion vector.
    """

    kind: str
    path: str
    partition: tuple[tuple[str, str | None], ...] = ()
    masked: bool = False


@dataclass(frozen=True, slots=True)
class FeedCommit:
    """What one version says of rows; files that only moved rows are left out.

    `refused` is why the table cannot be read from this version on, if it says so.
    """

    version: int
    files: tuple[FeedFile, ...] = ()
    refused: str | None = None

    def files_of_kind(self, kind: str) -> tuple[FeedFile, ...]:
        """Return the files of one kind."""
        return tuple(f for f in self.files if f.kind == kind)


@dataclass
class _FeedState:
    """The state of a table while its log is replayed."""

    files: dict[str, FeedFile] = field(default_factory=dict)
    refused: str | None = None

    def apply(self, actions: Iterable[Action]) -> None:
        for action in actions:
            self.refused = _refusal(action) or self.refused
            if add := action.get("add"):
                self.files[add["path"]] = _file("add", add)
            elif remove := action.get("remove"):
                self.files.pop(remove["path"], None)


def versions(table: Objects) -> tuple[int, int] | None:
    """Return the oldest and the newest commit that the log holds; None where there is no log.

    Raises `OSError` for a folder that cannot be listed.
    """
    names = delta_log.names_in_log(table)
    numbers = sorted(int(m[1]) for name in names if (m := _COMMIT.fullmatch(name)))
    return (numbers[0], numbers[-1]) if numbers else None


def commit(table: Objects, version: int) -> FeedCommit | None:
    """Return one commit; None where the log does not have it (any more)."""
    actions = delta_log.read_commit(table, version)
    if actions is None:
        return None
    refused = next((r for a in actions if (r := _refusal(a)) is not None), None)
    return FeedCommit(version, tuple(_files(actions)), refused)


def snapshot(table: Objects, version: int) -> FeedCommit | None:
    """Return the files of the table at a version, as if it added them all; None if it is gone."""
    at = max((v for v in delta_log.checkpoint_versions(table) if v <= version), default=-1)
    alive = _FeedState()
    if at >= 0:
        for name in delta_log.checkpoint_names(table, at):
            alive.apply(_plain(delta_log.checkpoint_actions(table, name)))
    for number in range(at + 1, version + 1):
        actions = delta_log.read_commit(table, number)
        if actions is None:
            return None
        alive.apply(actions)
    return FeedCommit(version, tuple(alive.files.values()), alive.refused)


def _plain(actions: Iterable[Action]) -> Iterator[Action]:
    """Yield the actions of a checkpoint as those of a commit: maps are pairs there."""
    for action in actions:
        ((kind, value),) = action.items()
        maps = {k: dict(v or ()) for k, v in value.items() if k in _MAPS}
        yield {kind: {**value, **maps}}


_MAPS = ("partitionValues", "configuration")


def _files(actions: Iterable[Action]) -> Iterator[FeedFile]:
    for action in actions:
        for kind in ("add", "remove", "cdc"):
            found = action.get(kind)
            if found and (kind == "cdc" or found.get("dataChange", True)):
                yield _file(kind, found)


def _file(kind: str, entry: Mapping[str, Any]) -> FeedFile:
    values = entry.get("partitionValues") or {}
    vector = entry.get("deletionVector") or {}
    return FeedFile(
        kind,
        unquote(entry["path"]),
        tuple((name, values[name]) for name in sorted(values)),
        bool(vector.get("storageType")),
    )


def _refusal(action: Action) -> str | None:
    """Return what of an action keeps Parquet readers from the table's rows."""
    if protocol := action.get("protocol"):
        unknown = set(protocol.get("readerFeatures") or ()) - READABLE
        if unknown - {"columnMapping", "v2Checkpoint"}:
            return f"it needs {', '.join(sorted(unknown))}"
        if "v2Checkpoint" in unknown:
            return "its checkpoints are of version 2"
    if metadata := action.get("metaData"):
        properties = dict(metadata.get("configuration") or {})
        mode = properties.get("delta.columnMapping.mode", "none")
        if mode != "none":
            return f"it maps its columns by {mode}"
    return None
