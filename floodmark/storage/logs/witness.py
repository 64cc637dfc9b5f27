"""What the clocks of a machine said when an epoch was opened."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

NAME = "clock.json"
"""The record of it, below the engine's folder."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Witness:
    """What the clocks said when an epoch was opened.

    `boot` is the machine's start, empty where nothing tells it, `counted` seconds since then, by a
    clock that nobody sets.
    """

    time: str
    boot: str
    counted: float

    def __post_init__(self) -> None:
        datetime.fromisoformat(self.time)  # ValueError for what is no time

    @classmethod
    def take(cls, now: datetime) -> Witness:
        """Return what the clocks say now."""
        try:
            boot = _BOOT_ID.read_text(encoding="ascii").strip()
            return cls(now.isoformat(), boot, time.clock_gettime(time.CLOCK_BOOTTIME))
        except (OSError, AttributeError):
            return cls(now.isoformat(), "", 0.0)

    def excess(self, later: Witness) -> tuple[timedelta, bool]:
        """Return how far the time has gone beyond what was counted, and whether it was counted."""
        passed = datetime.fromisoformat(later.time) - datetime.fromisoformat(self.time)
        if not self.boot or self.boot != later.boot:
            return passed, False
        return passed - timedelta(seconds=later.counted - self.counted), True
