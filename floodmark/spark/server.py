"""One warm local Connect server per user and configuration.

A JVM takes seconds to start; to attach to a warm one takes a fraction of a second. So the first
process that needs Spark starts a server that outlives it. Later processes, of any warehouse, attach
to it. A watchdog stops it when nobody has been attached for a while.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import psutil

from floodmark.errors import TransientError
from floodmark.limits import LIMITS
from floodmark.spark.cache import cache_folder
from floodmark.spark.clients import Client, ClientFile, clients
from floodmark.spark.confs import SparkConfig
from floodmark.spark.java import find_java
from floodmark.spark.launch import (
    JAVA_VARIABLE,
    archive_options,
    forget_old_archives,
    server_class_path,
    server_command,
    server_environment,
)
from floodmark.spark.record import ServerHome, ServerRecord, ends_within
from floodmark.storage.locks import SharedLock, exclusive

_STARTED = re.compile(r"Spark Connect server started at: \S*?:(\d+)\s")


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What `floodmark server status` shows; pid, url and memory are None unless it runs.

    `uptime_seconds` and `resident_bytes` are of the server's process, `clients` those that have
    something running there, `others` the processes of servers with other settings or versions.
    """

    running: bool
    folder: Path
    log: Path
    pid: int | None = None
    url: str | None = None
    uptime_seconds: float | None = None
    resident_bytes: int | None = None
    clients: tuple[Client, ...] = ()
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Attachment:
    """A hold on a running server: as long as it is held, the watchdog lets the server live."""

    home: ServerHome
    url: str
    token: str = field(repr=False)
    nonce: str
    lock: SharedLock
    client_file: ClientFile

    def release(self) -> None:
        """Let the server go; a second call does nothing."""
        self.client_file.leave()
        self.lock.release()


def server_home(config: SparkConfig) -> ServerHome:
    """Return the files of the server for this configuration and the installed versions."""
    # Its classes and its Python are those of one installation, and Java reads options of its own.
    versions = (version("pyspark"), version("delta-spark"))
    java = (str(find_java().executable), *filter(None, [os.environ.get(JAVA_VARIABLE)]))
    digest = config.digest(*versions, *java, sys.prefix)
    folder = cache_folder() / "servers" / digest
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return ServerHome(folder)


def attach(config: SparkConfig) -> Attachment:
    """Return a hold on the running server for `config`, after starting one if there is none.

    Two processes that call it at once end with one server. Raises TransientError E0510 (jars),
    E0512 (start failed) or E0514 (no Java).
    """
    home = server_home(config)
    lock = SharedLock(home.client_lock)
    try:
        with exclusive(home.start_lock):
            token = home.token()
            record = home.read()
            if record is None or record.port == 0 or record.process() is None:
                # Port 0: its starter died before it listened.
                _end(home, record)
                record = _start(config, home, token)
        return Attachment(home, record.url, token, record.nonce, lock, ClientFile(home.clients))
    except BaseException:
        lock.release()
        raise


def ends(hold: Attachment) -> bool:
    """Tell whether the server of a hold is gone, or goes within seconds."""
    record = hold.home.read()
    process = record.process() if record is not None and record.nonce == hold.nonce else None
    return process is None or ends_within(process, LIMITS.server_stop_seconds)


def status(config: SparkConfig) -> ServerStatus:
    """Return whether the server for `config` runs, without starting it."""
    home = server_home(config)
    record = home.read()
    process = record.process() if record else None
    others = tuple(pid for each in homes() if each != home and (pid := _pid(each)) is not None)
    if record is None or process is None:
        return ServerStatus(False, home.folder, home.log, others=others)
    return ServerStatus(
        True,
        home.folder,
        home.log,
        pid=record.pid,
        url=record.url if record.port else None,
        uptime_seconds=time.time() - record.started,
        resident_bytes=process.memory_info().rss,
        clients=tuple(c for c in clients(home.clients).values() if c.running),
        others=others,
    )


def homes() -> list[ServerHome]:
    """Return the files of all servers of this cache, whatever their settings."""
    return [ServerHome(p) for p in sorted((cache_folder() / "servers").glob("*")) if p.is_dir()]


def _pid(home: ServerHome) -> int | None:
    record = home.read()
    return record.pid if record is not None and record.process() is not None else None


def stop(config: SparkConfig) -> bool:
    """Stop the server for `config`; return whether one ran. Attached clients lose it.

    It is asked to end, then killed. Raises TransientError E0537 if it runs on all the same.
    """
    return stop_home(server_home(config))


def stop_home(home: ServerHome) -> bool:
    """Stop the server of these files; return whether one ran. E0537."""
    with exclusive(home.start_lock):
        return _end(home, home.read())


def replace(hold: Attachment) -> bool:
    """Kill the server of a hold, if it is still that one; return whether it was."""
    return replace_server(hold.home, hold.nonce)


def replace_server(home: ServerHome, nonce: str) -> bool:
    """Kill a server that answers nobody, if it is still that one; whoever comes next starts anew.

    Return whether it was. It is not asked to stop, as a server that answers is: it would not hear.
    """
    with exclusive(home.start_lock):
        record = home.read()
        if record is None or record.nonce != nonce:
            return False
        return _end(home, record, ask=False)


def _end(home: ServerHome, record: ServerRecord | None, *, ask: bool = True) -> bool:
    process = record.process() if record else None
    if record is None:
        return False
    if process is not None and not (ask and _terminate(process, record)):
        _kill(process)
    if record.archive:
        Path(record.archive).unlink(missing_ok=True)
    home.forget()
    return process is not None


def _terminate(process: psutil.Process, record: ServerRecord) -> bool:
    process.send_signal(signal.SIGTERM)
    if not ends_within(
        process, LIMITS.server_archive_seconds if record.archive else LIMITS.server_stop_seconds
    ):
        return False
    _keep_archive(record.archive)
    return True


def _kill(process: psutil.Process) -> None:
    process.kill()
    if not ends_within(process, LIMITS.server_kill_seconds):
        raise TransientError(
            "E0537",
            f"the Spark server, process {process.pid}, does not end",
            detail=f"killed {LIMITS.server_kill_seconds} s ago, it is {process.status()}",
            hint="a process that waits for a disk ends when the disk answers; look at it with ps",
        )


def _keep_archive(fresh: str | None) -> None:
    if fresh is not None and Path(fresh).is_file():
        archive = Path(fresh).with_suffix(".jsa")
        Path(fresh).replace(archive)
        forget_old_archives(archive.parent)


def _start(config: SparkConfig, home: ServerHome, token: str) -> ServerRecord:
    cache, java, nonce = cache_folder(), find_java(), secrets.token_hex(8)
    classes = server_class_path(cache, java)
    options, fresh = archive_options(cache, java, classes, nonce)
    command = server_command(config, java, classes, home.folder, nonce, options)
    # What a server that was killed left of its working files.
    shutil.rmtree(home.folder / "local", ignore_errors=True)
    if home.log.exists():
        home.log.replace(home.log.with_suffix(".previous.log"))
    with home.log.open("wb") as log:
        # A session of its own: what kills the client, such as Ctrl-C, leaves the server alone.
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home.folder,
            env=server_environment(token),
            start_new_session=True,
        )
    started = psutil.Process(server.pid).create_time()
    home.write(ServerRecord(server.pid, started, 0, nonce, fresh))
    record = ServerRecord(server.pid, started, _await_port(server, home), nonce, fresh)
    home.write(record)
    _start_watchdog(home, config.idle_minutes)
    return record


def _await_port(server: subprocess.Popen[bytes], home: ServerHome) -> int:
    """Return the port that the server says it listens on."""
    deadline = time.monotonic() + LIMITS.server_start_seconds
    while time.monotonic() < deadline and server.poll() is None:
        match = _STARTED.search(home.log.read_text(errors="replace"))
        if match:
            return int(match.group(1))
        time.sleep(0.05)
    code = server.poll()
    if code is None:
        server.kill()
    home.forget()
    raise TransientError(
        "E0512",
        "the Spark server "
        + (
            f"ended with code {code}"
            if code is not None
            else f"did not start in {LIMITS.server_start_seconds} s"
        ),
        detail="\n".join(home.log.read_text(errors="replace").splitlines()[-15:]),
        hint=f"the whole log is in {home.log}",
    )


def _start_watchdog(home: ServerHome, idle_minutes: float) -> None:
    package_root = str(Path(__file__).parents[2])
    subprocess.Popen(
        [
            sys.executable,
            "-m",
            "floodmark.spark.watchdog",
            str(home.folder),
            str(idle_minutes * 60),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=home.folder,
        env={**os.environ, "PYTHONPATH": package_root},
        start_new_session=True,
    )
