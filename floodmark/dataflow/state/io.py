"""Reading and writing the state tables of one object in one epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from floodmark.scalar.functions.intervals import datetime_of
from floodmark.scalar.types import Schema
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import failpoints, layout
from floodmark.tables.cut import Cut
from floodmark.tables.tables import Tables, Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Pin = Callable[[str, int | None], int | None]
"""Returns at which version an epoch asks a table, given its newest; without one, if it has."""


@dataclass
class StateIO:
    """The state tables of one object in one epoch; `versions` is what they end at.

    `dues` are the times of the first changes that operators have still to make. `pin` settles at
    which version a table elsewhere is asked.

    `owner` is the object (or the sink that feeds it) whose plan runs; `home` is the object whose
    record and application id the tables belong to.
    """

    tables: Tables
    writer: Writer
    before: Cut
    home: AnalysedObject
    owner: AnalysedObject
    pin: Pin
    versions: dict[str, int] = field(default_factory=dict)
    dues: list[int] = field(default_factory=list)

    def table(self, name: str) -> str:
        """Return the state table of a name."""
        return layout.state_table(self.owner, name)

    def handle_before(self, table: str) -> Handle | None:
        """Return a state table as of the epoch before."""
        version = self.before.version(self.home.key, table)
        return None if version is None else self.tables.at(table, version)

    def recorded(self, table: str) -> Handle | None:
        """Return a state table if this epoch is in it already, else None."""
        done = self.writer.recorded(table)
        if done is not None:
            self.stay(table, done)
        return done

    def commit(
        self,
        table: str,
        schema: Schema,
        adds: tuple[DataFile, ...],
        removes: tuple[DataFile, ...],
        on: Handle | None,
    ) -> Handle:
        """Commit a state table for this epoch."""
        handle = self.writer.commit(table, schema, adds, removes, on)
        self.stay(table, handle)
        failpoints.reach("first_table_committed")
        return handle

    def stay(self, table: str, handle: Handle | None) -> None:
        """Remember that a state table ends the epoch as it is in a handle."""
        if handle is not None:
            self.versions[table] = handle.version

    def read_scratch(
        self, table: str, files: tuple[DataFile, ...], columns: Schema
    ) -> DataFrame | None:
        """Return written, uncommitted rows; None when there are none."""
        if not files:
            return None
        return self.tables.read_paths(self.writer.paths(table, files), columns)

    def fall_due(self, times: Sequence[int]) -> None:
        """Remember times, in microseconds, at which an operator has something to change."""
        self.dues.extend(times)

    @property
    def due(self) -> datetime | None:
        """Return the first time at which an operator has something to change."""
        return datetime_of(min(self.dues), zoned=True) if self.dues else None
