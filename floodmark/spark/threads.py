"""What a Java runtime says of its threads, asked as `jstack` asks: by its attach protocol."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from pathlib import Path

from floodmark.limits import LIMITS

_REQUEST = b"1\0threaddump\0\0\0\0"
_THREAD = re.compile(r'^"(.*)" .*#', re.MULTILINE)


def thread_names(pid: int) -> tuple[str, ...] | None:
    """Return the names of the Java threads of a process of this user; None if it says nothing.

    Any HotSpot runtime says them, from the second it runs on.
    """
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(LIMITS.server_dump_seconds)
            asked.connect(str(_listening(pid)))
            asked.sendall(_REQUEST)
            dump = b"".join(iter(lambda: asked.recv(1 << 16), b""))
    except OSError:
        return None
    names = tuple(_THREAD.findall(dump.decode(errors="replace")))
    return names or None


def _listening(pid: int) -> Path:
    """Return the socket of a runtime, which it makes when it is asked to."""
    # Both in the view of the process, which may be in a container of its own.
    socket_path = Path(f"/proc/{pid}/root/tmp/.java_pid{pid}")
    asks = Path(f"/proc/{pid}/cwd/.attach_pid{pid}")
    last = time.monotonic() + LIMITS.server_dump_seconds
    if not socket_path.exists():
        # With this file there the signal means the question, else a dump into the log.
        asks.touch(mode=0o600)
        try:
            os.kill(pid, signal.SIGQUIT)
            while not socket_path.exists() and time.monotonic() < last:
                time.sleep(0.05)
        finally:
            asks.unlink(missing_ok=True)
    return socket_path
