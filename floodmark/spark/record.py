"""The server file: which process a server is, so that an open port proves nothing by itself."""

from __future__ import annotations

import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

# Clocks of /proc are in hundredths of a second.
_SAME_START_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A started server; `port` is 0 until it listens, `started` is epoch seconds.

    `archive` is where its JVM writes its class archive at a clean stop, if it does.
    """

    pid: int
    started: float
    port: int
    nonce: str
    archive: str | None = None

    @property
    def url(self) -> str:
        """Return the Connect URL.

        With `127.0.0.1` in place of `localhost` and a token the client would attempt TLS.
        """
        return f"sc://localhost:{self.port}"

    def process(self) -> psutil.Process | None:
        """Return the process if it still runs; a new one with a recycled pid does not count."""
        return same_process(self.pid, self.started)


@dataclass(frozen=True, slots=True)
class ServerHome:
    """The files of one server (one user, one configuration) in the cache."""

    folder: Path

    @property
    def start_lock(self) -> Path:
        """Return the lock that whoever starts or stops the server holds alone."""
        return self.folder / "start.lock"

    @property
    def client_lock(self) -> Path:
        """Return the lock that every attached client shares."""
        return self.folder / "attached.lock"

    @property
    def clients(self) -> Path:
        """Return the folder where each client says what it has running."""
        return self.folder / "clients"

    @property
    def log(self) -> Path:
        """Return the file with the output of the server."""
        return self.folder / "server.log"

    def read(self) -> ServerRecord | None:
        """Return the record, or None if there is none or it is torn."""
        try:
            return ServerRecord(**json.loads((self.folder / "server.json").read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write(self, record: ServerRecord) -> None:
        """Replace the record atomically."""
        write_private(self.folder / "server.json", json.dumps(asdict(record)))

    def forget(self) -> None:
        """Remove the record."""
        (self.folder / "server.json").unlink(missing_ok=True)

    def token(self) -> str:
        """Return the secret of this server, made at the first call (under the start lock)."""
        path = self.folder / "token"
        if not path.is_file():
            write_private(path, secrets.token_urlsafe(32))
        return path.read_text()


def same_process(pid: int, started: float) -> psutil.Process | None:
    """Return a process that was started then, if it still runs."""
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - started) < _SAME_START_SECONDS
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def ends_within(process: psutil.Process, seconds: float) -> bool:
    """Wait until a process has ended, at most so long; return whether it has.

    A zombie without threads has ended: its parent may be a client that never asks for it.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            process.wait(0.05)
            return True
        except psutil.TimeoutExpired:
            if _is_left_over(process):
                return True
            if time.monotonic() >= deadline:
                return False


def _is_left_over(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
    except psutil.NoSuchProcess:
        return True


def write_private(path: Path, text: str) -> None:
    """Write a file, whole or not at all, that only its owner can read."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    partial.replace(path)
