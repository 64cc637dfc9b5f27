"""Deleting what no kept version of a Delta table needs: data files, and log before a checkpoint."""

from __future__ import annotations

import os
from pathlib import Path

from floodmark.storage import delta_log
from floodmark.storage.delta_log import Snapshot


def delete_unneeded(folder: Path, oldest: Snapshot, before: float) -> int:
    """Delete the files last written before `before` (Unix seconds) that no version since `oldest`
    needs, orphans of failed attempts included; return how many data files went.
    """
    needed = set(oldest.files)
    version = oldest.version + 1
    while (actions := delta_log.read_commit(folder, version)) is not None:
        needed.update(delta_log.added(actions))
        version += 1
    deleted = 0
    for path in list(_data_files(folder)):
        relative = path.relative_to(folder).as_posix()
        if relative not in needed and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            deleted += 1
    _delete_empty_folders(folder)
    _delete_log(folder, oldest.version, before)
    return deleted


def _data_files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for base, folders, names in os.walk(folder):
        if Path(base) == folder and delta_log.LOG in folders:
            folders.remove(delta_log.LOG)
        found += [Path(base, name) for name in names]
    return found


def _delete_empty_folders(folder: Path) -> None:
    for base, _, _ in os.walk(folder, topdown=False):
        path = Path(base)
        if path != folder and delta_log.LOG not in path.parts and not any(path.iterdir()):
            path.rmdir()


def _delete_log(folder: Path, oldest: int, before: float) -> None:
    kept = max((v for v in delta_log.checkpoint_versions(folder) if v <= oldest), default=None)
    if kept is None:
        return
    for path in (folder / delta_log.LOG).iterdir():
        number = path.name.split(".")[0]
        if number.isdigit() and int(number) < kept and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
