"""Deleting what no kept version of a Delta table needs: data files, and log before a checkpoint."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from floodmark.storage import delta_log
from floodmark.storage.delta_log import Snapshot
from floodmark.storage.objects import Objects


def delete_unneeded(table: Objects, oldest: Snapshot, before: float) -> int:
    """Delete the files last written before `before` (Unix seconds) that no version since `oldest`
    needs, orphans of failed attempts included; return how many data files went.
    """
    needed = set(oldest.files)
    version = oldest.version + 1
    while (actions := delta_log.read_commit(table, version)) is not None:
        needed.update(delta_log.added(actions))
        version += 1
    log = f"{delta_log.LOG}/"
    data = [k for k in table.list() if k not in needed and not k.startswith(log)]
    deleted = _delete_older(table, data, before)
    _delete_older(table, _log_before_checkpoint(table, oldest.version), before)
    return deleted


def delete_empty_folders(folder: Path) -> None:
    """Delete what a disk keeps of folders without files, but for the log."""
    for base, _, _ in os.walk(folder, topdown=False):
        path = Path(base)
        if path != folder and delta_log.LOG not in path.parts and not any(path.iterdir()):
            path.rmdir()


def _delete_older(table: Objects, keys: Iterable[str], before: float) -> int:
    older = [key for key in keys if _modified(table, key) < before]
    table.delete(older)
    return len(older)


def _modified(table: Objects, key: str) -> float:
    """Return when a file was written last; what is none, or is gone, is never old."""
    with suppress(OSError):
        if (head := table.head(key)) is not None:
            return head.modified
    return math.inf


def _log_before_checkpoint(table: Objects, oldest: int) -> list[str]:
    """Return the keys of the log that the newest checkpoint up to a version makes needless."""
    kept = max((v for v in delta_log.checkpoint_versions(table) if v <= oldest), default=None)
    if kept is None:
        return []
    found = ((name, name.partition(".")[0]) for name in delta_log.names_in_log(table))
    older = (name for name, number in found if number.isdigit() and int(number) < kept)
    return [f"{delta_log.LOG}/{name}" for name in older if not name.endswith("/")]
