"""Least versions of the tables of corrections, because no seal pins them.

A backfill of closed windows writes `_floodmark/corrected.json` after its commit. A table that ends
before has lost commits.
"""

from __future__ import annotations

from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.objects.contract import Location

NAME = "corrected.json"
Versions = dict[str, int]
"""What the record says: a version by table."""


class CorrectedTables:
    """The versions of the tables of corrections of one warehouse; its writer holds the lease.

    A record that is lost or damaged is none: then nothing is known.
    """

    def __init__(self, place: Location) -> None:
        self._files = RecordFiles(place, "", "the record of corrections")

    def versions(self) -> dict[str, int]:
        """Return the version that each table has at least."""
        return self._files.read_derived(NAME, Versions) or {}

    def record_version(self, table: str, version: int) -> None:
        """Record the version of a table after a commit."""
        self._files.replace(NAME, {**self.versions(), table: version}, derived=True)

    def forget(self, table: str) -> None:
        """Leave a table out that is about to go."""
        known = self.versions()
        if known.pop(table, None) is not None:
            self._files.replace(NAME, known, derived=True)
