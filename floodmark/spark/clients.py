"""Who uses a server, and what runs there for it: a file per client beside the server's record."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from floodmark.spark.record import same_process
from floodmark.spark.threads import thread_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXECUTES = re.compile(r"SparkConnectExecuteThread_opId=\S*?([0-9a-f]{12})")
"""The name of a thread that executes a query, which ends with the mark of its client."""
_WORKS = re.compile(r"Executor task launch worker for task .*\(TID (\d+)\)")
"""The name of a thread that works at a task, or did so last; it ends a minute after."""


@dataclass(frozen=True, slots=True)
class Client:
    """A process that is attached: `running` has what it waits for, with the time it began at.

    Times are epoch seconds, `started` is the process's. The operations of its sessions have ids
    that end with its `mark`.
    """

    pid: int
    started: float
    command: str
    running: Mapping[str, float] = field(default_factory=dict)
    mark: str = ""

    @property
    def is_alive(self) -> bool:
        """Tell whether the process still runs."""
        return same_process(self.pid, self.started) is not None


class ClientFile:
    """The file in which this process says what it has running; removed at the end.

    It only shows what runs: a full disk or a removed folder is no reason to end a query.
    """

    def __init__(self, folder: Path) -> None:
        started = psutil.Process().create_time()
        mark = secrets.token_hex(6)
        self._client = Client(os.getpid(), started, _command(), mark=mark)
        self._path = folder / f"{os.getpid()}-{mark}.json"
        self._running: dict[str, float] = {}
        self._lock = threading.Lock()
        self._width = 0
        self._file: int | None = None
        with suppress(OSError):
            folder.mkdir(exist_ok=True, mode=0o700)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
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

    def mark(self, session: SparkSession) -> None:
        """Give the operations of a session ids by which the watchdog knows whose they are."""
        client: Any = session.client
        request = client._execute_plan_request_with_metadata

        def mark_request(operation_id: str | None = None) -> Any:
            return request(operation_id or f"{str(uuid.uuid4())[:24]}{self._client.mark}")

        client._execute_plan_request_with_metadata = mark_request

    def leave(self) -> None:
        """Remove the file; a second call does nothing."""
        with self._lock, suppress(OSError):
            if self._file is not None:
                file, self._file = self._file, None
                os.close(file)
                self._path.unlink()

    def _write(self) -> None:
        """Write in place, which takes microseconds; whoever reads sees all of it or the former."""
        text = json.dumps(asdict(replace(self._client, running=self._running)))
        self._width = max(self._width, len(text))
        if self._file is not None:
            with suppress(OSError):
                os.pwrite(self._file, text.ljust(self._width).encode(), 0)


def clients(folder: Path) -> dict[Path, Client]:
    """Return the clients that left their files, those that were killed included."""
    out = {}
    for path in sorted(folder.glob("*.json")):
        try:
            out[path] = Client(**json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            continue
    return out


def running_marks(pid: int) -> frozenset[str] | None:
    """Return the marks of the clients for which a server executes anything; None if it is silent.

    What Spark could not interrupt goes on in its thread, whatever Spark says of it.
    """
    names = thread_names(pid)
    if names is None:
        return None
    found = (_EXECUTES.fullmatch(name) for name in names)
    return frozenset(match[1] for match in found if match is not None)


def orphan_tasks(pid: int) -> frozenset[int]:
    """Return the tasks of a server that executes no query.

    One that is interrupted while Spark compiles it may submit its job afterwards, which belongs to
    nobody then and hears of no interrupt.
    """
    names = thread_names(pid) or ()
    if any(_EXECUTES.fullmatch(name) for name in names):
        return frozenset()
    found = (_WORKS.fullmatch(name) for name in names)
    return frozenset(int(match[1]) for match in found if match is not None)


def _command() -> str:
    """Return what a person knows a process by: the program and its first word."""
    return " ".join([Path(sys.argv[0] or "python").name, *sys.argv[1:2]])[:80]
