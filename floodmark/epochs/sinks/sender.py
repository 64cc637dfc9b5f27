"""What writes outside: files in a folder, or commits to a Delta table."""

from __future__ import annotations

from typing import Protocol

from floodmark.epochs.sinks.delta import DeltaSender
from floodmark.epochs.sinks.files import FilesSender
from floodmark.epochs.sinks.identity import Identity
from floodmark.epochs.sinks.records import Records, unknown
from floodmark.epochs.sinks.sink_batch import SinkBatch
from floodmark.limits import LIMITS, Limits
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.external_sink import DELTA


class Sender(Protocol):
    """Writes what epochs have for one sink; each as often as it is told to, with one result."""

    def check(self) -> None:
        """Raise where nothing could be written: E0741 out of reach, E0742 to E0744 refused."""

    def send(
        self, epoch: int, outgoing: SinkBatch, *, initial: bool, records: Records = unknown
    ) -> int:
        """Write an epoch, whole; return how many rows. With `initial`, it has all rows.

        `records` tell the epochs of the log from others of the same numbers: E0745.
        """


def sender_of(obj: AnalysedObject, seed: str, limits: Limits = LIMITS) -> Sender:
    """Return what writes for a sink of the warehouse that has a seed."""
    assert obj.external_sink is not None
    identity = Identity(obj.object.storage_name, seed)
    if obj.external_sink.connector == DELTA:
        return DeltaSender(obj.external_sink, identity, limits)
    return FilesSender(obj.external_sink, identity)
