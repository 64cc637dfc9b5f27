"""A small process beside each server that ends it when it is of no use to anybody.

It stops a server that nobody has used for a while. It kills a server that answers nobody. It also
kills one that is busy with the query of a client that is gone, or with a job that nobody waits for:
Spark cannot interrupt these. Other clients go on with the next server. Run as `python -m
floodmark.spark.watchdog FOLDER SECONDS`. It ends with its server.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from floodmark.limits import LIMITS
from floodmark.spark.clients import clients, orphan_tasks, running_marks
from floodmark.spark.record import ServerHome, ServerRecord
from floodmark.spark.server import replace_server, stop_home
from floodmark.storage.locks import exclusive_if_free


@dataclass
class Watch:
    """What is known of a server; `ask_every` and the others are seconds."""

    home: ServerHome
    record: ServerRecord
    ask_every: float = LIMITS.server_ask_seconds
    answer: float = LIMITS.server_answer_seconds
    orphaned: float = LIMITS.server_orphan_seconds
    left: float = LIMITS.server_left_seconds
    _looked: float = field(default_factory=time.monotonic)
    _left: dict[int, float] = field(default_factory=dict)
    _asked_at: float = field(default_factory=time.monotonic)
    _dead: dict[Path, float] = field(default_factory=dict)

    def is_stuck(self) -> bool:
        """Tell whether the server answers nobody, or works for somebody who is gone."""
        return self._works_for_nobody() or self._has_left_over() or not self._answers()

    def _answers(self) -> bool:
        if time.monotonic() - self._asked_at < self.ask_every:
            return True
        # Twice: a machine that slept lets the first one fail.
        found = answers(self.record.port, self.answer) or answers(self.record.port, self.answer / 4)
        self._asked_at = time.monotonic()
        return found

    def _works_for_nobody(self) -> bool:
        known, now = clients(self.home.clients), time.time()
        dead = [path for path, client in known.items() if not client.is_alive]
        self._dead = {path: self._dead.get(path, now) for path in dead}
        executed = running_marks(self.record.pid) if dead else None
        if executed is None:
            return False
        for path in dead:
            if known[path].mark not in executed:
                # Nothing is left of it.
                path.unlink(missing_ok=True)
                del self._dead[path]
        return any(now - died > self.orphaned for died in self._dead.values())

    def _has_left_over(self) -> bool:
        """Tell whether one task has been there all the time, and at each look no query."""
        now = time.monotonic()
        if now - self._looked >= self.ask_every:
            self._looked = now
            self._left = {t: self._left.get(t, now) for t in orphan_tasks(self.record.pid)}
        return any(now - since > self.left for since in self._left.values())


def answers(port: int, seconds: float) -> bool:
    """Tell whether a server says anything within a time, be it that it knows no such call."""
    import grpc

    with grpc.insecure_channel(f"localhost:{port}") as channel:
        try:
            ask = channel.unary_unary("/floodmark.Watchdog/Ask")
            ask(b"", timeout=seconds, wait_for_ready=True)
        except grpc.RpcError as error:
            silent = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)
            return error.code() not in silent
    return True


def watch(home: ServerHome, idle_seconds: float) -> None:
    """Return when the server of these files has ended, which it does after `idle_seconds` idle.

    Every client holds the shared lock while attached, and touches its file when it attaches.
    """
    record = home.read()
    last_used = time.time()
    known = None if record is None else Watch(home, record)
    while known is not None and known.record == home.read() and known.record.process() is not None:
        time.sleep(min(LIMITS.server_look_seconds, idle_seconds / 4))
        if known.is_stuck():
            replace_server(home, known.record.nonce)
            return
        with exclusive_if_free(home.client_lock) as idle:
            if not idle:
                last_used = time.time()
            last_used = max(last_used, home.client_lock.stat().st_mtime)
            # Held alone while stopping, so that a client that comes now waits and starts anew.
            if time.time() - last_used > idle_seconds and known.record == home.read():
                stop_home(home)


if __name__ == "__main__":
    watch(ServerHome(Path(sys.argv[1])), float(sys.argv[2]))
