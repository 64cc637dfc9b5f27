"""A small process beside each server that stops it when nobody has used it for a while.

Run as `python -m floodmark.spark.watchdog FOLDER SECONDS`. It ends with its server.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from floodmark.spark.record import ServerHome
from floodmark.spark.server import stop_home
from floodmark.storage.locks import exclusive_if_free


def watch(home: ServerHome, idle_seconds: float) -> None:
    """Return when the server of these files has ended, which it does after `idle_seconds` idle.

    Every client holds the shared lock while attached, and touches its file when it attaches.
    """
    record = home.read()
    last_used = time.time()
    while record is not None and record == home.read() and record.process() is not None:
        time.sleep(min(5.0, idle_seconds / 4))
        with exclusive_if_free(home.attached_lock) as idle:
            if not idle:
                last_used = time.time()
            last_used = max(last_used, home.attached_lock.stat().st_mtime)
            # Held alone while stopping, so that a client that comes now waits and starts anew.
            if time.time() - last_used > idle_seconds and record == home.read():
                stop_home(home)


if __name__ == "__main__":
    watch(ServerHome(Path(sys.argv[1])), float(sys.argv[2]))
