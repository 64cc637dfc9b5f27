"""Who uses a server, and what runs there for it: a file per client beside the server's record."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from floodmark.spark.record import same_process, write_private

_EXECUTES = re.compile(r"SparkConnectExe|SparkCo\.\.([0-9a-f]{6})")
"""Threads that execute queries, `SparkConnectExecuteThread_opId=…`, as Linux shows them: the first
15 characters of a name, or in newer Javas its beginning and end."""


@dataclass(frozen=True, slots=True)
class Client:
    """A process that is attached: `running` has what it waits for, with the time it began at.

    Times are epoch seconds, `started` is the process's.
    """

    pid: int
    started: float
    command: str
    running: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_alive(self) -> bool:
        """Tell whether the process still runs."""
        return same_process(self.pid, self.started) is not None


class Desk:
    """The file in which this process says what it has running; removed at the end."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True, mode=0o700)
        started = psutil.Process().create_time()
        self._client = Client(os.getpid(), started, _command())
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
        self._running: dict[str, float] = {}
        self._lock = threading.Lock()
        self._write()

    @contextmanager
    def running(self, tag: str) -> Iterator[None]:
        """Say that something runs for the time of the block."""
        name = tag
        with self._lock:
            while name in self._running:
                name += "'"
            self._running[name] = time.time()
            self._write()
        try:
            yield
        finally:
            with self._lock:
                del self._running[name]
                self._write()

    def leave(self) -> None:
        """Remove the file; a second call does nothing."""
        self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        client = self._client
        said = {"pid": client.pid, "started": client.started, "command": client.command}
        # A server's folder that somebody removed is no reason to end a query.
        if self._path.parent.is_dir():
            write_private(self._path, json.dumps({**said, "running": self._running}))


def clients(folder: Path) -> dict[Path, Client]:
    """Return the clients that left their files, those that were killed included."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path] = Client(**json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            continue
    return found


def executions(pid: int) -> dict[str, float]:
    """Return the queries that a server executes, with the seconds for which each has been.

    By the names of its threads, as Linux shows them; elsewhere nothing is known.
    """
    found: dict[str, float] = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            name = _EXECUTES.fullmatch((task / "comm").read_text().rstrip("\n"))
            if name is not None:
                # In newer Javas what sends the rows of a query has the same end.
                key = name[1] or task.name
                age = time.time() - psutil.Process(int(task.name)).create_time()
                found[key] = max(found.get(key, 0.0), age)
        except (OSError, psutil.Error):
            continue
    return found


def _command() -> str:
    """Return what a person knows a process by: the program and its first word."""
    return " ".join([Path(sys.argv[0] or "python").name, *sys.argv[1:2]])[:80]
