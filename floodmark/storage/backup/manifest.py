"""Manifests of backups: the list of files beside each copied warehouse.

A backup that cannot be read is listed as damaged or newer, and does not affect others.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from floodmark.errors import DataError
from floodmark.storage.logs.epoch_listing import BUCKET
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.records.bodies import UnknownField, parse_body
from floodmark.storage.records.text import NEWER, refuse_newer_field, refuse_newer_format
from floodmark.storage.warehouse import ENGINE, local_root

MANIFEST = "manifest.jsonl"
FORMAT = 1
_NAME = re.compile(r"(\d{8,})-\d{8}T\d{12}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a backup: `modified` is the original's time in ns, `crc32` is of its bytes."""

    path: str
    size: int
    modified: int
    crc32: int


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup; `copied_bytes` are those that the one before did not hold."""

    folder: Path
    epoch: int
    made_at: datetime
    files: int
    bytes: int
    copied_bytes: int


@dataclass(frozen=True, slots=True)
class UnreadableBackup:
    """A backup of which not even the manifest can be read: E0444, or E0430 for a newer format."""

    folder: Path
    error: DataError

    @property
    def why(self) -> str:
        """Return whether it is newer than this version of the engine, or damaged."""
        return "newer" if self.error.code == NEWER else "damaged"

    @property
    def epoch(self) -> int:
        """Return the epoch that its folder is named after."""
        return int(self.folder.name.partition("-")[0])


def find_backups(folder: str | Path) -> tuple[list[Backup], list[UnreadableBackup]]:
    """Return the finished backups below a folder, and the unreadable ones, each oldest first."""
    home = local_root(folder)
    whole, unreadable = list[Backup](), list[UnreadableBackup]()
    for path in sorted(home.iterdir()) if home.is_dir() else ():
        if _NAME.fullmatch(path.name):
            try:
                whole.append(header(path))
            except DataError as error:
                unreadable.append(UnreadableBackup(path, error))
    return sorted(whole, key=lambda b: (b.made_at, b.folder.name)), unreadable


def backups(folder: str | Path) -> list[Backup]:
    """Return the finished backups below a folder that can be read, oldest first."""
    return find_backups(folder)[0]


def histories(backups: Iterable[Backup]) -> list[Backup]:
    """Return the newest backup of each history, that of the newest epoch first.

    A restored warehouse that goes on, or a copy, has other epochs than the original from there on.
    Backups of one history share the seals of their epochs.
    """
    newest = list[Backup]()
    for backup in sorted(backups, key=lambda b: (b.epoch, b.made_at), reverse=True):
        seal = _seal(backup, backup.epoch)
        if not any(seal is not None and seal == _seal(other, backup.epoch) for other in newest):
            newest.append(backup)
    return newest


def _seal(backup: Backup, epoch: int) -> bytes | None:
    """Return the record that sealed an epoch, as a backup has it."""
    key = f"{ENGINE}/epochs/{epoch // BUCKET}/{epoch}.seal.json"
    try:
        stored = LocalObjects(backup.folder).get(key)
    except OSError:
        return None
    return None if stored is None else stored[0]


def is_one(folder: Path) -> bool:
    """Tell whether a folder is itself a backup."""
    return bool(_NAME.fullmatch(folder.name)) and (folder / MANIFEST).exists()


def refuse_damaged(folder: Path, what: str, why: str) -> NoReturn:
    """Raise E0444 for something in a backup."""
    raise DataError(
        "E0444",
        f"the backup {folder.name} is damaged: {what} {why}",
        hint="restore another backup; `floodmark backup FOLDER --list` names them",
    )


def write_manifest(folder: Path, backup: Backup, entries: list[Entry]) -> None:
    """Write the manifest of a backup."""
    header = {
        "format": FORMAT,
        "epoch": backup.epoch,
        "made_at": backup.made_at.isoformat(),
        "files": backup.files,
        "bytes": backup.bytes,
        "copied_bytes": backup.copied_bytes,
    }
    lines = [json.dumps(header), *(json.dumps(asdict(entry)) for entry in entries)]
    LocalObjects(folder).create(MANIFEST, ("\n".join(lines) + "\n").encode())


def header(folder: Path) -> Backup:
    """Return what a manifest begins with.

    Raises E0444 where it cannot be read or lacks files, E0430 where a newer version wrote it.
    """
    try:
        first, *others = _lines(folder)
        data = json.loads(first)
        format = data.pop("format", None) if isinstance(data, dict) else None
        if isinstance(format, int) and format > FORMAT:
            refuse_newer_format(_called(folder), format, FORMAT)
        if format != FORMAT:
            refuse_damaged(folder, MANIFEST, "has no format that a version of the engine wrote")
        data["made_at"] = datetime.fromisoformat(data["made_at"])
        backup: Backup = parse_body(Backup, {**data, "folder": folder})
    except UnknownField as error:
        refuse_newer_field(_called(folder), str(error))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        refuse_damaged(folder, MANIFEST, "cannot be read")
    lines = sum(line.endswith(b"}") for line in others[:-1])
    if lines != backup.files:
        refuse_damaged(folder, MANIFEST, f"is not whole: {lines} of {backup.files} files")
    return backup


def entries_of(folder: Path) -> list[Entry]:
    """Return what is in a backup; E0444 where the manifest is not whole, E0430 as `header`."""
    expected = header(folder).files
    try:
        entries = [parse_body(Entry, json.loads(line)) for line in _lines(folder)[1:-1]]
    except UnknownField as error:
        refuse_newer_field(_called(folder), str(error))
    except (OSError, ValueError, RecursionError):
        entries = []
    if len(entries) != expected:
        refuse_damaged(folder, MANIFEST, "is not whole")
    return entries


def _called(folder: Path) -> str:
    return f"the manifest of the backup {folder.name} in {folder.parent}"


def _lines(folder: Path) -> list[bytes]:
    """Return the lines of a manifest, and what is after the last; `OSError` where it is no file."""
    stored = LocalObjects(folder).get(MANIFEST)
    if stored is None:
        raise FileNotFoundError(errno.ENOENT, "not there", str(folder / MANIFEST))
    return stored[0].split(b"\n")
