"""The lease of a warehouse on a local disk.

A waiter holds a numbered ticket file and its file lock; the lowest living ticket takes the lock of
`holder`, which also says who it is. The kernel drops the locks of a dead process, so that a dead
holder is replaced at once. Foreign files in the folder are ignored. A non-file with the name of a
ticket or of `holder` is renamed.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from floodmark.errors import TransientError
from floodmark.limits import LIMITS
from floodmark.storage.lease.holder import Holder, read_holder
from floodmark.storage.local_files import disk_errors
from floodmark.storage.plain_files import is_other

_TICKET = re.compile(r"ticket-(\d{12,15})", re.ASCII)


class LocalLease:
    """The lease of one warehouse; its files are in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, purpose: str, wait: float = 60.0) -> Iterator[None]:
        """Hold the lease for a block; after `wait` seconds a `TransientError` E0503."""
        deadline = time.monotonic() + wait
        with disk_errors("the lease"):
            self._folder.mkdir(parents=True, exist_ok=True)
            number, ticket = self._take_ticket(purpose)
        try:
            lock = self._wait_for_turn(number, deadline, wait, purpose)
            try:
                yield
            finally:
                os.ftruncate(lock, 0)
                os.close(lock)
        finally:
            self._ticket_path(number).unlink(missing_ok=True)
            os.close(ticket)

    def holder(self) -> Holder | None:
        """Return who holds the lease, or None."""
        with disk_errors("the lease"):
            return _read_holder(self._folder / "holder")

    def _take_ticket(self, purpose: str) -> tuple[int, int]:
        """Return the number of a new ticket and its open, locked file."""
        temporary = self._folder / f".{uuid.uuid4().hex}"
        ticket = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            fcntl.flock(ticket, fcntl.LOCK_EX)
            _write_holder(ticket, purpose)
            number = max(self._tickets(), default=0) + 1
            while True:
                try:
                    os.link(temporary, self._ticket_path(number))
                    return number, ticket
                except FileExistsError:
                    number += 1
        except BaseException:
            os.close(ticket)
            raise
        finally:
            temporary.unlink()

    def _wait_for_turn(self, number: int, deadline: float, wait: float, purpose: str) -> int:
        while True:
            if not any(self._is_alive(n) for n in self._tickets() if n < number):
                lock = self._try_hold(purpose)
                if lock is not None:
                    return lock
            if time.monotonic() >= deadline:
                self._raise_timeout(wait, purpose)
            time.sleep(LIMITS.lease_poll_milliseconds / 1_000)

    def _try_hold(self, purpose: str) -> int | None:
        path = self._folder / "holder"
        with ExitStack() as undo, disk_errors("the lease"):
            if is_other(path):
                self._put_aside(path)
                return None
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            undo.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = self.holder()
                if holder is not None and holder.is_dead:
                    # A forked child of the dead holder keeps its lock: leave the file to it.
                    path.unlink(missing_ok=True)
                return None
            if not _is_same_file(lock, path):
                return None
            _write_holder(lock, purpose)
            undo.pop_all()
        return lock

    def _is_alive(self, number: int) -> bool:
        """Tell whether a ticket's process lives; a dead one's ticket is taken away."""
        path = self._ticket_path(number)
        if is_other(path):
            self._put_aside(path)
            return False
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _read_holder(path)
            if owner is None or not owner.is_dead:
                return True
            path.unlink(missing_ok=True)
            return False
        else:
            if _is_same_file(file, path):
                path.unlink(missing_ok=True)
            return False
        finally:
            os.close(file)

    def _put_aside(self, path: Path) -> None:
        """Move a folder or the like that is in the place of a file aside; nothing is deleted."""
        with suppress(FileNotFoundError):
            path.rename(self._folder / f"not-of-floodmark-{uuid.uuid4().hex}")

    def _tickets(self) -> list[int]:
        found = map(_TICKET.fullmatch, os.listdir(self._folder))
        return sorted(int(ticket[1]) for ticket in found if ticket is not None)

    def _ticket_path(self, number: int) -> Path:
        return self._folder / f"ticket-{number:012d}"

    def _raise_timeout(self, wait: float, purpose: str) -> None:
        holder = self.holder()
        who = "another waiter"
        if holder is not None:
            who = (
                f"process {holder.pid} on {holder.host}, since {holder.since}, "
                f"which does: {holder.purpose}"
            )
        raise TransientError(
            "E0503",
            f"the lease was not free within {wait:g} s for: {purpose}",
            detail=f"held by {who}",
            hint="wait longer with --wait, or end that process",
        )


def _read_holder(path: Path) -> Holder | None:
    try:
        return None if is_other(path) else read_holder(path.read_bytes())
    except FileNotFoundError:
        return None


def _write_holder(descriptor: int, purpose: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, Holder.me(purpose).to_bytes(), 0)


def _is_same_file(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False
