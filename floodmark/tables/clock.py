"""The machine's clock, and the check whether it is plausible.

ADR 0020: no epoch opens while the clock is ahead of the last epoch by more than `max_clock_jump`.
It opens if the machine's uptime has advanced as far, or if a user accepts the clock. After a reboot
the uptime says nothing: then the step may be as long as a plausible pause.
"""

from __future__ import annotations

import ctypes
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from floodmark.errors import UserError
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.logs.witness import NAME, Witness
from floodmark.storage.objects.contract import Location

_PAUSE = 31
"""How many times as far a clock may be ahead where the machine was started anew since."""
_KEPT_PAUSE = 366
"""The same, where something sets the clock by others: time servers, or a host."""
_TIME_ERROR = 5
_FORM = "%Y-%m-%d %H:%M:%S UTC"


class SystemClock:
    """The machine's clock, in UTC."""

    is_machines = True

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC)


def is_kept() -> bool | None:
    """Tell whether a time service keeps the system's clock.

    A clock that was set by hand is not kept until the service sets it again. None where the system
    does not tell.
    """
    libc = ctypes.CDLL(None)
    ask = getattr(libc, "ntp_adjtime", None)
    if ask is None:
        return None
    state = ask(ctypes.create_string_buffer(1024))  # of zeros: it only asks
    return None if state < 0 else bool(state != _TIME_ERROR)


class ClockGuard:
    """Knows what the clocks said when the machine's clock last opened an epoch of a warehouse."""

    def __init__(self, place: Location, log: EpochLog, max_jump: timedelta) -> None:
        self._files = RecordFiles(place, "", "the time of the epoch")
        self._log = log
        self.max_jump = max_jump
        self.accepts = False

    def check(self, now: datetime) -> None:
        """Refuse a time that is too far ahead of the last epoch: E0880.

        One that somebody `accepts` is kept at once: the next run, too, may find nothing new.
        """
        if self.accepts:
            self.note(now)
        before = self._read_witness()
        if before is None:
            return
        ahead, counted = before.excess(Witness.take(now))
        pause = _PAUSE if is_kept() is False else _KEPT_PAUSE
        if ahead <= self.max_jump * (1 if counted else pause):
            return
        last = f"the last epoch, opened at {datetime.fromisoformat(before.time):{_FORM}}"
        why = (
            f"{ahead.days:,} days more than the machine has counted since {last}"
            if counted
            else f"{ahead.days:,} days after {last}, and the machine was started anew since"
        )
        raise UserError(
            "E0880",
            f"the clock says {now:{_FORM}}: {why}",
            hint="set the clock right; if it is right, run `floodmark run --accept-clock` once. "
            "The time of epochs never goes back",
        )

    def note(self, now: datetime) -> None:
        """Keep what the clocks say at the opening of an epoch."""
        self._files.replace(NAME, asdict(Witness.take(now)), derived=True)
        self.accepts = False

    def _read_witness(self) -> Witness | None:
        """Return the last witness; None for a warehouse of an earlier version.

        Where the record is damaged, that is when the last epoch was opened.
        """
        if not self._files.has(NAME):
            return None
        return self._files.read_derived(NAME, Witness) or self._log_witness()

    def _log_witness(self) -> Witness | None:
        head = self._log.head()
        last = head.sealed if head.open is None else head.open.epoch
        return Witness(self._log.open_record(last).opened_at.isoformat(), "", 0.0) if last else None
