"""Restore of a backup: every file is verified, and then all appear at once.

The copy lies in a folder `.restore-…` until it is whole. That folder is beside the new warehouse,
or inside it if it exists and is empty, as it may be a disk of its own. What a killed restore has
left is removed by the next restore to that place.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.storage.backup.backup import check_apart, copy_out, twin_of
from floodmark.storage.backup.manifest import (
    Backup,
    Entry,
    entries_of,
    find_backups,
    header,
    histories,
    is_one,
    refuse_damaged,
)
from floodmark.storage.local_files import disk_errors, flush, make_folder
from floodmark.storage.locks import exclusive_if_free
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.progress import ReportProgress
from floodmark.storage.warehouse import ENGINE, local_root

_OF_A_DISK = frozenset({"lost+found"})
"""What an empty disk has."""


def restore(
    folder: str | Path,
    root: str | Path,
    epoch: int | None = None,
    progress: ReportProgress | None = None,
) -> Backup:
    """Copy a backup to where no warehouse is: the newest that can be read, or that of an epoch.

    Every file is compared with the manifest. Raises E0442 (no such backup), E0443 (something is at
    `root`), E0444 (a file of the backup is damaged), E0446 (backups of several histories are
    meant); nothing is at `root` then.
    """
    backup = _choose_backup(folder, epoch)
    target = local_root(root)
    check_apart(backup.folder, target)
    with disk_errors("the restored warehouse"):
        inside = target.is_dir()
        place, start = (target, "") if inside else (target.parent, f".{target.name}")
        make_folder(place, durable=True)
        _clear(place, f"{start}.restore-")
        _check_free(target)
        with _staging(place / f"{start}.restore-{uuid.uuid4().hex}") as partial:
            entries = entries_of(backup.folder)
            for number, entry in enumerate(entries, 1):
                _restore_file(backup.folder, partial, entry)
                if progress is not None:
                    progress(entry.path, number, len(entries))
            os.sync()
            if inside:
                _move_all(partial, target)
            else:
                partial.replace(target)
            flush(place)
    return backup


def _choose_backup(folder: str | Path, epoch: int | None) -> Backup:
    home = local_root(folder)
    whole, damaged = ([header(home)], []) if is_one(home) else find_backups(home)
    fitting = [b for b in whole if epoch is None or b.epoch == epoch]
    if fitting:
        newest = histories(fitting)
        if len(newest) > 1:
            _refuse_histories(home, newest)
        return newest[0]
    for unread in damaged:
        if epoch is None or unread.epoch == epoch:
            raise unread.error
    what = f"no backup of epoch {epoch}" if whole or damaged else "no backup"
    there = ", ".join(str(b.epoch) for b in whole) or "none"
    raise DataError(
        "E0442",
        f"there is {what} in {home}",
        hint=f"epochs with a backup there: {there}",
    )


def _refuse_histories(home: Path, newest: list[Backup]) -> NoReturn:
    names = [backup.folder.name for backup in newest]
    raise DataError(
        "E0446",
        f"{home} has backups of {len(names)} histories, which end with {', '.join(names)}",
        hint=f"name the one you mean: `floodmark restore {newest[0].folder}`",
    )


def _check_free(target: Path) -> None:
    """Raise E0443 unless a place is free, or an empty folder."""
    there = os.path.lexists(target)
    if there and (not target.is_dir() or {p.name for p in target.iterdir()} - _OF_A_DISK):
        raise DataError(
            "E0443",
            f"{target} is not empty",
            hint="restore into a new folder, then move it to the place of the old one",
        )


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """Give a folder to copy to, which goes afterwards; others leave it alone until then."""
    folder.mkdir()
    try:
        with exclusive_if_free(folder / ".lock"):
            partial = folder / "warehouse"
            partial.mkdir()
            yield partial
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _clear(place: Path, start: str) -> None:
    """Remove what restores have left that were killed."""
    for left in place.iterdir():
        if left.name.startswith(start) and left.is_dir():
            with exclusive_if_free(left / ".lock") as dead:
                if dead:
                    shutil.rmtree(left, ignore_errors=True)


def _move_all(partial: Path, target: Path) -> None:
    """Move what is in a folder into another on its disk, the logs last: without, it is none."""
    for path in sorted(partial.iterdir(), key=lambda p: p.name == ENGINE):
        if path.name == ENGINE:
            flush(target)
        path.rename(target / path.name)


def _restore_file(folder: Path, partial: Path, entry: Entry) -> None:
    source, target = LocalObjects(folder), partial / entry.path
    try:
        there = source.get(entry.path, 0, 1) is not None
    except OSError as error:
        refuse_damaged(folder, entry.path, f"cannot be read: {error.strerror}")
    if not there:
        refuse_damaged(folder, entry.path, "is missing")
    target.parent.mkdir(parents=True, exist_ok=True)
    twin = twin_of(partial, entry.path)
    if twin is not None and twin.stat().st_size == entry.size:
        os.link(twin, target)
        return
    crc = copy_out(source, entry.path, target, LIMITS)
    if (target.stat().st_size, crc) != (entry.size, entry.crc32):
        refuse_damaged(folder, entry.path, "has other bytes than were written")
