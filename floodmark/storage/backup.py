"""Backups: copies of a warehouse as of a sealed epoch, made while epochs go on.

A backup is a folder `<epoch>-<time>` that is a warehouse of its own, with a manifest beside it. Its
logs end with a sealed epoch, and each table ends with the version that this epoch pins. Data files,
commits and records never change once they are written, so that a copy needs no lease. What a drop
or a vacuum removes in the meantime lets the copy start over at a newer epoch. Files that an earlier
backup holds are linked to, not copied again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from floodmark.errors import DataError, TransientError
from floodmark.storage import delta_log
from floodmark.storage.epoch_log import BUCKET, EpochLog
from floodmark.storage.local_files import disk_errors
from floodmark.storage.locks import exclusive_if_free
from floodmark.storage.progress import Progress
from floodmark.storage.retention import Retention
from floodmark.storage.warehouse import (
    BACKFILLS,
    CORRECTIONS,
    GONE,
    REPLAYS,
    engine_folder,
    local_root,
)

MANIFEST = "manifest.jsonl"
FORMAT = 1
_TRIES = 5
_CHUNK = 2**20
_NAME = re.compile(r"(\d{8,})-\d{8}T\d{12}")
_NOT_COPIED = frozenset({"lease", GONE, REPLAYS, BACKFILLS, "reported.json", "leaving.json"})
"""What of the engine's folder is of one process, or of a moment after the epoch."""


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


def back_up(root: str | Path, destination: str | Path, progress: Progress | None = None) -> Backup:
    """Copy a warehouse as of its last sealed epoch into a new folder below `destination`.

    Raises E0440 (nothing is sealed), E0441 (a file of the warehouse is missing), E0445 (one folder
    lies in the other), E0525 (another backup writes there), E0526 (tables go faster than they are
    copied).
    """
    source, target = local_root(root), local_root(destination)
    _check_apart(source, target)
    _sealed(source)  # before anything is made
    with disk_errors("the backup"):
        target.mkdir(parents=True, exist_ok=True)
        with exclusive_if_free(target / ".lock") as mine:
            if not mine:
                raise TransientError(
                    "E0525",
                    f"another backup is being written to {target}",
                    hint="wait until it is done, or choose another folder",
                )
            for left in target.glob(".partial-*"):
                shutil.rmtree(left, ignore_errors=True)
            partial = target / f".partial-{uuid.uuid4().hex}"
            try:
                return _back_up(source, target, partial, progress)
            finally:
                shutil.rmtree(partial, ignore_errors=True)


def backups(folder: str | Path) -> list[Backup]:
    """Return the finished backups below a folder, oldest first."""
    home = local_root(folder)
    found = [p for p in home.iterdir() if _NAME.fullmatch(p.name)] if home.is_dir() else []
    return sorted((_header(path) for path in found), key=lambda b: (b.made_at, b.folder.name))


def restore(
    folder: str | Path,
    root: str | Path,
    epoch: int | None = None,
    progress: Progress | None = None,
) -> Backup:
    """Copy a backup to where no warehouse is: the newest, or the newest of an epoch.

    Every file is compared with the manifest. Raises E0442 (no such backup), E0443 (something is at
    `root`), E0444 (a file of the backup is damaged); nothing is at `root` then.
    """
    backup = _chosen(folder, epoch)
    target = local_root(root)
    _check_apart(backup.folder, target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(
            "E0443",
            f"there is something at {target} already",
            hint="restore into a new folder, and put it in the place of the old one afterwards",
        )
    partial = target.with_name(f".{target.name}.restore-{uuid.uuid4().hex}")
    with disk_errors("the restored warehouse"):
        try:
            entries = _entries(backup.folder)
            for number, entry in enumerate(entries, 1):
                _restore_file(backup.folder, partial, entry)
                if progress is not None:
                    progress(entry.path, number, len(entries))
            os.sync()
            partial.mkdir(parents=True, exist_ok=True)
            partial.replace(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return backup


def _sealed(source: Path) -> int:
    epoch = EpochLog(source).head().sealed
    if not epoch:
        raise DataError(
            "E0440",
            f"{source} has no sealed epoch to back up",
            hint="name the warehouse with --warehouse; `floodmark run` seals its first epoch",
        )
    return epoch


def _back_up(source: Path, target: Path, partial: Path, progress: Progress | None) -> Backup:
    earlier = backups(target)
    known = _linkable(earlier[-1].folder) if earlier else {}
    for _ in range(_TRIES):
        epoch = _sealed(source)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            entries, copied = _copy(source, partial, epoch, known, progress)
        except FileNotFoundError as error:
            missing = error.filename
            continue
        backup = Backup(
            target / f"{epoch:08d}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}",
            epoch,
            datetime.now(UTC),
            len(entries),
            sum(entry.size for entry in entries),
            copied,
        )
        _write_manifest(partial, backup, entries)
        os.sync()
        partial.replace(backup.folder)
        return backup
    if EpochLog(source).head().sealed == epoch:
        raise DataError(
            "E0441",
            f"epoch {epoch} needs a file that is not there: {missing}",
            hint="`floodmark verify` names everything that is missing; restore an earlier backup",
        )
    raise TransientError(
        "E0526",
        f"tables of {source} were dropped or cleaned up {_TRIES} times while they were copied",
        hint="run the backup again when fewer definitions change",
    )


def _copy(
    source: Path,
    partial: Path,
    epoch: int,
    known: Mapping[str, tuple[Entry, Path]],
    progress: Progress | None,
) -> tuple[list[Entry], int]:
    """Copy or link all files of an epoch; return their entries and the bytes that were copied."""
    paths = list(_files(source, epoch))
    entries, copied = [], 0
    for number, path in enumerate(paths, 1):
        found = (source / path).stat()
        target = partial / path
        target.parent.mkdir(parents=True, exist_ok=True)
        entry, held = known.get(path, (None, None))
        same = entry is not None and _is_same(entry, found)
        if entry is None or held is None or not (same and _link(held, target)):
            entry = Entry(path, found.st_size, found.st_mtime_ns, _copied(source / path, target))
            copied += found.st_size
        entries.append(entry)
        if progress is not None:
            progress(path, number, len(paths))
    return [*entries, *_name_checkpoints(partial)], copied


def _files(root: Path, epoch: int) -> Iterator[str]:
    """Yield the files of a warehouse as of a sealed epoch, relative to its root."""
    kept = Retention(root).read().oldest
    yield from _engine_files(root, epoch)
    log = EpochLog(root)
    oldest = _versions(log, min(kept, epoch))
    for table, version in _versions(log, epoch).items():
        yield from _table_files(root, table, oldest.get(table, 0), version)
    for folder in sorted((root / CORRECTIONS).glob("*/*")):
        snapshot = delta_log.load(folder)
        if snapshot is not None:
            table = folder.relative_to(root).as_posix()
            yield from _table_files(root, table, 0, snapshot.version)


def _versions(log: EpochLog, epoch: int) -> dict[str, int]:
    records = log.sealed(epoch).objects.values()
    return {table: v for record in records for table, v in record.versions.items()}


def _engine_files(root: Path, epoch: int) -> Iterator[str]:
    """Yield the files of the engine's folder: records after the epoch are left out."""
    engine = engine_folder(root)
    version = EpochLog(root).opened(epoch).catalog_version
    for base, folders, names in os.walk(engine):
        place = Path(base)
        if place == engine:
            folders[:] = sorted(name for name in folders if name not in _NOT_COPIED)
            names = [name for name in names if name not in _NOT_COPIED]
        for name in sorted(names):
            if not name.startswith(".") and _is_up_to(place, name, epoch, version):
                yield (place / name).relative_to(root).as_posix()


def _is_up_to(folder: Path, name: str, epoch: int, version: int) -> bool:
    """Tell whether a file of the engine's folder is of an epoch and catalog version, or before."""
    number = name.partition(".")[0]
    if folder.parent.name == "epochs":
        if number.isdigit():
            return int(number) <= epoch
        return (int(folder.name) + 1) * BUCKET - 1 <= epoch
    if folder.name == "catalog" and number.isdigit():
        return int(number) <= version
    return True


def _table_files(root: Path, table: str, oldest: int, version: int) -> Iterator[str]:
    """Yield the files of a table's versions up to one: its log, and the data they need."""
    folder = root / table
    snapshot = delta_log.load(folder, version)
    if snapshot is None:
        raise FileNotFoundError(2, "not there", str(delta_log.commit_path(folder, version)))
    log = Path(table, delta_log.LOG)
    for name in sorted(os.listdir(folder / delta_log.LOG)):
        number = name.partition(".")[0]
        if number.isdigit() and int(number) <= version and not name.endswith(".crc"):
            yield (log / name).as_posix()
    # An epoch that is kept reads versions from `oldest` on; what is older may be gone.
    before = delta_log.load(folder, oldest) if oldest <= version else None
    first = before.version + 1 if before is not None else version
    needed = dict.fromkeys([*snapshot.files, *(before.files if before is not None else ())])
    needed |= dict.fromkeys(_added(folder, range(first, version + 1)))
    yield from (f"{table}/{path}" for path in needed)
    for path in dict.fromkeys(_added(folder, range(first))):
        if path not in needed and (folder / path).exists():
            yield f"{table}/{path}"


def _added(folder: Path, versions: range) -> Iterator[str]:
    for version in versions:
        yield from delta_log.added(delta_log.read_commit(folder, version) or ())


def _name_checkpoints(partial: Path) -> Iterator[Entry]:
    """Write for each table which of its copied checkpoints is the newest, where it has any."""
    for log in sorted(partial.glob(f"**/{delta_log.LOG}")):
        text = delta_log.last_checkpoint(log.parent)
        if text is not None:
            path = log / delta_log.LAST_CHECKPOINT
            path.write_text(text, encoding="utf-8")
            name = path.relative_to(partial).as_posix()
            yield Entry(name, len(text), 0, zlib.crc32(text.encode()))


def _is_same(entry: Entry, found: os.stat_result) -> bool:
    return (entry.size, entry.modified) == (found.st_size, found.st_mtime_ns)


def _link(held: Path, target: Path) -> bool:
    try:
        os.link(held, target)
    except OSError:
        return False
    return True


def _copied(source: Path, target: Path) -> int:
    """Copy a file and return the CRC-32 of its bytes."""
    crc = 0
    with source.open("rb") as read, target.open("wb") as written:
        while chunk := read.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
            written.write(chunk)
    return crc


def _restore_file(folder: Path, partial: Path, entry: Entry) -> None:
    target = partial / entry.path
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        crc = _copied(folder / entry.path, target)
    except FileNotFoundError:
        _refuse_damaged(folder, entry.path, "is missing")
    if (target.stat().st_size, crc) != (entry.size, entry.crc32):
        _refuse_damaged(folder, entry.path, "has other bytes than were written")


def _refuse_damaged(folder: Path, what: str, why: str) -> NoReturn:
    raise DataError(
        "E0444",
        f"the backup {folder.name} is damaged: {what} {why}",
        hint="restore another backup; `floodmark restore --list` names them",
    )


def _write_manifest(folder: Path, backup: Backup, entries: list[Entry]) -> None:
    header = {
        "format": FORMAT,
        "epoch": backup.epoch,
        "made_at": backup.made_at.isoformat(),
        "files": backup.files,
        "bytes": backup.bytes,
        "copied_bytes": backup.copied_bytes,
    }
    lines = [json.dumps(header), *(json.dumps(asdict(entry)) for entry in entries)]
    (folder / MANIFEST).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _header(folder: Path) -> Backup:
    try:
        with (folder / MANIFEST).open(encoding="utf-8") as file:
            data = json.loads(file.readline())
        if data.pop("format") != FORMAT:
            _refuse_damaged(folder, MANIFEST, "is of another version of the engine")
        made_at = datetime.fromisoformat(data.pop("made_at"))
        return Backup(folder, made_at=made_at, **data)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        _refuse_damaged(folder, MANIFEST, "cannot be read")


def _entries(folder: Path) -> list[Entry]:
    expected = _header(folder).files
    lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()[1:]
    try:
        entries = [Entry(**json.loads(line)) for line in lines]
    except (ValueError, TypeError):
        entries = []
    if len(entries) != expected:
        _refuse_damaged(folder, MANIFEST, "is not whole")
    return entries


def _linkable(folder: Path) -> dict[str, tuple[Entry, Path]]:
    return {entry.path: (entry, folder / entry.path) for entry in _entries(folder)}


def _chosen(folder: str | Path, epoch: int | None) -> Backup:
    home = local_root(folder)
    if _NAME.fullmatch(home.name) and (home / MANIFEST).exists():
        found = [_header(home)]
    else:
        found = backups(home)
    fitting = [b for b in found if epoch is None or b.epoch == epoch]
    if not fitting:
        what = f"no backup of epoch {epoch}" if found else "no backup"
        there = ", ".join(str(b.epoch) for b in found) or "none"
        raise DataError(
            "E0442",
            f"there is {what} in {home}",
            hint=f"epochs with a backup there: {there}",
        )
    return fitting[-1]


def _check_apart(a: Path, b: Path) -> None:
    one, other = a.resolve(), b.resolve()
    if one == other or one in other.parents or other in one.parents:
        raise DataError(
            "E0445",
            f"{a} and {b} lie in one another",
            hint="choose a folder beside the warehouse, better on another disk",
        )
