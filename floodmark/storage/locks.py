"""File locks between processes; the system releases them when a process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock alone for the block, after waiting for it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def exclusive_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock alone for the block if nobody holds it; yield whether that is so."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


class SharedLock:
    """A lock that many hold at once; held from construction until `release`."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._handle, fcntl.LOCK_SH)
        os.utime(path)

    def release(self) -> None:
        """Let go of the lock; a second call does nothing."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
