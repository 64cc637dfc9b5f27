"""What a sender of external sinks does; one class for each connector of sinks."""

from __future__ import annotations

from typing import Protocol

from floodmark.connectors.sinks.records import Records, unknown
from floodmark.connectors.sinks.sink_batch import SinkBatch


class Sender(Protocol):
    """Writes the epochs of one sink; writing an epoch again has the same result."""

    def check(self) -> None:
        """Raise if nothing could be written: E0741 if unreachable, E0742 to E0744 if refused."""

    def send(
        self, epoch: int, outgoing: SinkBatch, *, initial: bool, records: Records = unknown
    ) -> int:
        """Write a complete epoch; return how many rows. With `initial`, it has all rows.

        `records` distinguish epochs of this log from others with the same numbers: E0745.
        """
