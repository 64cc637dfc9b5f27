"""What a disk has after a power cut: what was flushed, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_Key = tuple[int, int]
"""Inode and time of a file: inodes alone are used again."""


class Disk:
    """The folders below one, as they would be after a power cut.

    A file has what it had when it was flushed last, and is empty before. A name is there once its
    folder was flushed. That is the least that a file system keeps; most keep more.
    """

    def __init__(self, below: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._below = below
        self._files: dict[_Key, bytes] = {}
        self._folders: dict[Path, dict[str, _Key | None]] = {below: {}}
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._flushed)

    def _flushed(self, handle: int) -> None:
        # The real one is left out: nothing is cut here, and it takes its time.
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if not path.is_relative_to(self._below):
            self._fsync(handle)
        elif path.is_dir():
            self._folders[path] = {p.name: None if p.is_dir() else _key(p) for p in _there(path)}
        else:
            self._files[_key(path)] = path.read_bytes()

    def copy(self, folder: Path, to: Path) -> Path:
        """Write what is left of a folder to another place, and return that."""
        to.mkdir()
        for name, key in self._folders.get(folder, {}).items():
            if key is None:
                self.copy(folder / name, to / name)
            else:
                (to / name).write_bytes(self._files.get(key, b""))
        return to


def _there(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.exists()]


def _key(path: Path) -> _Key:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns
