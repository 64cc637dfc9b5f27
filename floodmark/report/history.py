"""What the epoch log says, in the form that plots and tables need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from floodmark.api import Floodmark
from floodmark.storage.logs.epochs import ObjectRecord

NEWEST = 500


@dataclass(frozen=True, slots=True)
class EpochRow:
    """A sealed epoch: what kind it was, how long it took, and what it did to each object.

    `seconds` goes from opening to sealing. `notes` are events such as a suspension.
    """

    epoch: int
    kind: str
    now: datetime
    sealed_at: datetime
    seconds: float
    objects: Mapping[str, ObjectRecord]
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> list[ObjectRecord]:
        """Return the records of the objects that changed."""
        return [record for record in self.objects.values() if record.touched]


def history(connection: Floodmark, newest: int = NEWEST) -> list[EpochRow]:
    """Return the last sealed epochs, oldest first."""
    log = connection.warehouse.log
    last = log.head().sealed
    return [_row(connection, e) for e in log.epochs(after=max(0, last - newest)) if e <= last]


def _row(connection: Floodmark, epoch: int) -> EpochRow:
    log = connection.warehouse.log
    opened, sealed = log.open_record(epoch), log.seal_record(epoch)
    events = [f"{e.kind} {e.object or ''}: {e.message}".strip() for e in log.events(epoch)]
    return EpochRow(
        epoch,
        opened.kind,
        opened.now,
        sealed.sealed_at,
        (sealed.sealed_at - opened.opened_at).total_seconds(),
        sealed.objects,
        (*opened.notes, *events),
    )
