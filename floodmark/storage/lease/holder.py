"""Who holds the lease of a warehouse, as its record says it."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import psutil


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lease, since when and what for."""

    pid: int
    started: float
    host: str
    since: str
    purpose: str

    @classmethod
    def me(cls, purpose: str) -> Holder:
        """Return this process, from now on."""
        process = psutil.Process()
        since = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(process.pid, process.create_time(), socket.gethostname(), since, purpose)

    @property
    def is_dead(self) -> bool:
        """Tell whether the process has ended on this machine (its number may live on)."""
        if self.host != socket.gethostname():
            return False
        try:
            return bool(abs(psutil.Process(self.pid).create_time() - self.started) > 1.0)
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False

    def to_bytes(self) -> bytes:
        """Return the bytes of its record."""
        return json.dumps(asdict(self)).encode()


def read_holder(data: bytes) -> Holder | None:
    """Return who a record names; None where it names nobody."""
    try:
        holder = Holder(**json.loads(data))
    except (ValueError, TypeError):
        return None
    return holder if isinstance(holder.pid, int) and isinstance(holder.started, float) else None
