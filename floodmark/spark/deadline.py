"""Ends what takes too long: interrupts it, then gives its server up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from floodmark.errors import DataError, FloodmarkError
from floodmark.limits import LIMITS

_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def hold(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock in the block; E0459 where the time of this thread ends while it waits.

    Who waits has no query that could be interrupted.
    """
    deadline = _CURRENT.get()
    while not lock.acquire(timeout=LIMITS.interrupt_again_seconds):
        if deadline is not None and deadline.passed:
            raise deadline.error()
    try:
        yield
    finally:
        lock.release()


class Deadline:
    """Watches a block from its construction until `end`.

    `interrupt` is called again and again once `seconds` are over, `give_up` once, where the block
    has not ended `grace` seconds later. Both run in threads of their own.
    """

    def __init__(
        self,
        tag: str,
        seconds: float,
        interrupt: Callable[[], None],
        give_up: Callable[[], object],
        grace: float = LIMITS.interrupt_seconds,
    ) -> None:
        self.tag = tag
        self.seconds = seconds
        self.passed = False
        self._done = threading.Event()
        self._interrupt, self._give_up, self._grace = interrupt, give_up, grace
        self._before = _CURRENT.set(self)
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> None:
        """Stop watching; called by the thread that has begun it."""
        _CURRENT.reset(self._before)
        self._done.set()

    def error(self) -> FloodmarkError:
        """Return what is to be raised where the time was over."""
        return DataError(
            "E0459",
            f"{self.tag} took longer than query_timeout, {self.seconds:g} s",
            hint="SET query_timeout = '1 hour' allows more time, '0' any time; there is no limit "
            "while an object catches up after ALTER … RESUME",
        )

    def _watch(self) -> None:
        if self._done.wait(self.seconds):
            return
        self.passed = True
        last = time.monotonic() + self._grace
        while time.monotonic() < last:
            # A server that answers nobody does not answer this call either.
            threading.Thread(target=self._quietly, args=(self._interrupt,), daemon=True).start()
            if self._done.wait(LIMITS.interrupt_again_seconds):
                return
        self._quietly(self._give_up)

    def _quietly(self, action: Callable[[], object]) -> None:
        with suppress(Exception):
            action()
