"""`floodmark run --follow`: wait for data, run epochs, maintain tables, retry after failures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from floodmark.errors import FloodmarkError, TransientError

if TYPE_CHECKING:
    from floodmark.api import Floodmark

POLL_SECONDS = 0.5
IDLE_SHARE = 0.1
"""At most this part of the time goes into looking for data, however long a look takes."""
LONGEST_PAUSE_SECONDS = 30.0


@dataclass
class Follower:
    """Repeats a turn on a warehouse: `turn(left)` runs the pending epochs, at most `left`."""

    connection: Floodmark
    turn: Callable[[int | None], int]
    _failures: int = field(default=0, init=False)
    _said: str = field(default="", init=False)

    def follow(self, epochs: int | None) -> None:
        """Repeat until a number of epochs is sealed; forever without a number."""
        done = 0
        while epochs is None or done < epochs:
            started = time.monotonic()
            took_in = self._attempt(None if epochs is None else epochs - done)
            done += took_in
            if not took_in:
                time.sleep(self._pause(time.monotonic() - started))

    def _attempt(self, left: int | None) -> int:
        """Take a turn; what goes wrong is said once, and tried again."""
        try:
            done = self.turn(left)
            self._maintain()
        except TransientError as error:
            self._failures += 1
            self._say(error)
            # The server may be gone: the next turn attaches anew, and starts it if need be.
            self.connection.close()
            return 0
        except FloodmarkError as error:
            # A source that cannot be read comes back, or is mended, while the others go on.
            self._say(error)
            return 0
        if self._said:
            typer.echo("going on", err=True)
        self._failures, self._said = 0, ""
        return done

    def _maintain(self) -> None:
        if self.connection.needs_maintenance():
            self.connection.maintain()

    def _pause(self, looked: float) -> float:
        if self._failures:
            return min(POLL_SECONDS * (1 << self._failures), LONGEST_PAUSE_SECONDS)
        return min(max(POLL_SECONDS, looked * (1 / IDLE_SHARE - 1)), LONGEST_PAUSE_SECONDS)

    def _say(self, error: FloodmarkError) -> None:
        text = error.render()
        if text != self._said:
            typer.echo(text, err=True)
        self._said = text
