"""The tables of dropped objects, until their folders are gone: written down before the DROP is.

`_floodmark/leaving.json` is there from before the version of the definitions that does without the
objects until after their folders have gone; whoever comes next goes on with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.objects.contract import Location

NAME = "leaving.json"


@dataclass(frozen=True, slots=True)
class PendingTables:
    """The tables that go once an epoch of a catalog version is sealed."""

    version: int
    tables: Sequence[str] = ()


class PendingDrops:
    """The record of what leaves one warehouse; its writer holds the lease."""

    def __init__(self, place: Location) -> None:
        self._files = RecordFiles(place, "", "the record of tables that leave")

    def pending(self) -> PendingTables | None:
        """Return the tables that are to be deleted; None where there are none."""
        return self._files.body(NAME, PendingTables)

    def write(self, version: int, tables: Sequence[str]) -> None:
        """Record what goes with a version that is not logged yet."""
        self._files.replace(NAME, asdict(PendingTables(version, tables)))

    def forget(self) -> None:
        """Remove the record: the tables are gone, or the version was never logged."""
        self._files.remove(NAME)
