"""Backups: copies of a warehouse as of a sealed epoch, made while epochs go on.

A backup is a folder `<epoch>-<time>` that is a warehouse of its own, with a manifest beside it. Its
logs end with a sealed epoch, and each table ends with the version that this epoch pins. Data files,
commits and records never change once they are written, so that a copy needs no lease. If a drop or
a vacuum removes a file in the meantime, the copy starts over at a newer epoch. Files that an
earlier backup has are hard-linked, not copied again.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from floodmark.errors import DataError, TransientError
from floodmark.limits import LIMITS, Limits
from floodmark.storage.backup.files_of_epoch import files_of
from floodmark.storage.backup.manifest import (
    MANIFEST as MANIFEST,
    Backup,
    Entry,
    backups as backups,
    entries_of,
    write_manifest,
)
from floodmark.storage.delta import log as delta_log
from floodmark.storage.durability import objects_of
from floodmark.storage.local_files import disk_errors, flush, make_folder
from floodmark.storage.locks import exclusive_if_free
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.logs.record_kinds import kind_of
from floodmark.storage.logs.seed import NAME as SEED, find_seed
from floodmark.storage.objects.contract import Location, ObjectHead, Objects
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.progress import ReportProgress
from floodmark.storage.records.text import read_record
from floodmark.storage.warehouse import ENGINE, ROWS, local_root


def back_up(
    place: Location,
    destination: str | Path,
    progress: ReportProgress | None = None,
    limits: Limits = LIMITS,
) -> Backup:
    """Copy a warehouse as of its last sealed epoch into a new folder below `destination`.

    Raises E0440 (nothing is sealed), E0441 (a file of the warehouse is missing or not whole), E0445
    (one folder lies in the other), E0525 (another backup writes there), E0526 (tables go faster
    than they are copied), and what is wrong with a record.
    """
    source, target = objects_of(place), local_root(destination)
    check_apart(Path(source.place), target)
    _newest_sealed(source)  # before anything is made
    with disk_errors("the backup"):
        make_folder(target, durable=True)
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
                return _back_up(source, target, partial, progress, limits)
            finally:
                shutil.rmtree(partial, ignore_errors=True)


def _newest_sealed(source: Objects) -> int:
    epoch = EpochLog(source).head().sealed
    if not epoch:
        raise DataError(
            "E0440",
            f"{source.place} has no sealed epoch to back up",
            hint="name the warehouse with --warehouse; `floodmark run` seals its first epoch",
        )
    return epoch


def _back_up(
    source: Objects,
    target: Path,
    partial: Path,
    progress: ReportProgress | None,
    limits: Limits,
) -> Backup:
    known = _linkable(target)
    for _ in range(limits.backup_tries):
        epoch = _newest_sealed(source)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            entries, copied_bytes = _copy(source, partial, epoch, known, progress, limits)
        except FileNotFoundError as error:
            missing = error.filename
            continue
        backup = Backup(
            target / f"{epoch:08d}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}",
            epoch,
            datetime.now(UTC),
            len(entries),
            sum(entry.size for entry in entries),
            copied_bytes,
        )
        write_manifest(partial, backup, entries)
        os.sync()
        partial.replace(backup.folder)
        flush(target)
        return backup
    if EpochLog(source).head().sealed == epoch:
        raise DataError(
            "E0441",
            f"epoch {epoch} needs a file that is not there, or not whole: {missing}",
            hint="`floodmark verify` names everything that is missing; restore an earlier backup",
        )
    raise TransientError(
        "E0526",
        f"tables of {source.place} were dropped or cleaned up {limits.backup_tries} times while "
        "they were copied",
        hint="run the backup again when fewer definitions change",
    )


def _copy(
    source: Objects,
    partial: Path,
    epoch: int,
    known: Mapping[str, tuple[Entry, Path]],
    progress: ReportProgress | None,
    limits: Limits,
) -> tuple[list[Entry], int]:
    """Copy or link all files of an epoch; return their entries and the bytes that were copied."""
    paths = list(files_of(source, epoch))
    entries, crcs, new = list[Entry](), dict[str, int](), 0
    for number, path in enumerate(paths, 1):
        head = source.head(path)
        if head is None:
            raise FileNotFoundError(errno.ENOENT, "not there", source.spark_url(path))
        target = partial / path
        target.parent.mkdir(parents=True, exist_ok=True)
        entry, held = known.get(path, (None, None))
        same = entry is not None and _is_same(entry, head)
        twin = twin_of(partial, path)
        if twin is not None and _link(twin, head.size, target):
            entries.append(Entry(path, head.size, head.modified, crcs[f"{ROWS}/{path}"]))
            continue
        if entry is None or held is None or not (same and _link(held, entry.size, target)):
            _check_record(source, path)
            crc = copy_out(source, path, target, limits)
            entry = Entry(path, head.size, head.modified, crc)
            new += head.size
        entries.append(entry)
        crcs[path] = entry.crc32
        if progress is not None:
            progress(path, number, len(paths))
    return [*entries, *_name_checkpoints(partial)], new


def twin_of(folder: Path, path: str) -> Path | None:
    """Return the file of rows that a published file is; None where there is none."""
    twin = folder / ROWS / path
    data = path.endswith(".parquet") and f"/{delta_log.LOG}/" not in path
    return twin if data and twin.is_file() else None


def _check_record(source: Objects, path: str) -> None:
    """Raise what is wrong with a record or the seed: a damaged one is copied into no backup."""
    if path == f"{ENGINE}/{SEED}":
        find_seed(source)
    elif path.startswith(f"{ENGINE}/") and path.endswith(".json"):
        read_record(source, path, kind_of(path.removeprefix(f"{ENGINE}/")) or Any)


def _name_checkpoints(partial: Path) -> Iterator[Entry]:
    """Write for each table which of its copied checkpoints is the newest, where it has any."""
    for log in sorted(partial.glob(f"**/{delta_log.LOG}")):
        text = delta_log.last_checkpoint(LocalObjects(log.parent))
        if text is not None:
            path = log / delta_log.LAST_CHECKPOINT
            path.write_text(text, encoding="utf-8")
            name = path.relative_to(partial).as_posix()
            yield Entry(name, len(text), 0, zlib.crc32(text.encode()))


def _linkable(target: Path) -> dict[str, tuple[Entry, Path]]:
    """Return the files of the newest backup that can be read."""
    for earlier in reversed(backups(target)):
        try:
            return {e.path: (e, earlier.folder / e.path) for e in entries_of(earlier.folder)}
        except DataError:
            continue
    return {}


def _is_same(entry: Entry, head: ObjectHead) -> bool:
    return (entry.size, entry.modified) == (head.size, head.modified)


def _link(held: Path, size: int, target: Path) -> bool:
    """Link to a file of an earlier backup; return False where that does not have it whole."""
    try:
        if held.stat().st_size != size:
            return False
        os.link(held, target)
    except OSError:
        return False
    return True


def copy_out(source: Objects, key: str, target: Path, limits: Limits) -> int:
    """Copy an object to a file and return the CRC-32 of its bytes.

    `FileNotFoundError` where it is not there, or another one while it is copied.
    """
    crc, start, tags, most = 0, 0, set[str](), limits.backup_chunk_bytes
    with target.open("wb") as written:
        while (part := source.get(key, start, start + most)) is not None:
            chunk, tag = part
            tags.add(tag)
            crc = zlib.crc32(chunk, crc)
            written.write(chunk)
            start += len(chunk)
            if len(chunk) < most:
                break
    if part is None or len(tags) > 1:
        raise FileNotFoundError(errno.ENOENT, "not there, or not whole", source.spark_url(key))
    return crc


def check_apart(a: Path, b: Path) -> None:
    """Raise E0445 where one of two folders lies in the other."""
    one, other = a.resolve(), b.resolve()
    if one == other or one in other.parents or other in one.parents:
        raise DataError(
            "E0445",
            f"{a} and {b} are nested",
            hint="choose a folder beside the warehouse, better on another disk",
        )
