"""Senders of external sinks: they write files in a folder, or commits to a Delta table."""

from __future__ import annotations

from typing import Protocol

from floodmark.connectors.sinks.delta import DeltaSender
from floodmark.connectors.sinks.files import FilesSender
from floodmark.connectors.sinks.identity import SinkIdentity
from floodmark.connectors.sinks.records import Records, unknown
from floodmark.connectors.sinks.sink_batch import SinkBatch
from floodmark.limits import Limits
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.external_sink import DELTA


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


def sender_of(obj: AnalysedObject, seed: str, limits: Limits) -> Sender:
    """Return the sender of a sink, in the warehouse that has a seed."""
    assert obj.external_sink is not None
    identity = SinkIdentity(obj.object.storage_name, seed)
    if obj.external_sink.connector == DELTA:
        return DeltaSender(obj.external_sink, identity, limits)
    return FilesSender(obj.external_sink, identity, limits)
