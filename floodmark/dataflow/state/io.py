"""Reading and writing the state tables of one object in one epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from floodmark.scalar.functions.intervals import datetime_of
from floodmark.scalar.types import Schema
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.cut import Cut
from floodmark.tables.keyed_rows import Scratch
from floodmark.tables.tables import TableChange, Tables, Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Pin = Callable[[str, int | None], int | None]
"""Returns at which version an epoch asks a table, given its newest; without one, if it has."""


def replacement(before: Handle | None, files: Sequence[DataFile]) -> TableChange:
    """Return the change that puts files in the place of all that a table has."""
    return TableChange(files, () if before is None else before.files)


@dataclass
class StateIO:
    """The state tables of one object in one epoch; `versions` are those after the epoch.

    `due_times` are those of the first changes that operators have still to make. `pin` settles at
    which version a table elsewhere is asked.

    `owner` is the object (or the sink that feeds it) whose plan runs; `obj` is the object whose
    record and application id the tables belong to.
    """

    tables: Tables
    writer: Writer
    before: Cut
    obj: AnalysedObject
    owner: AnalysedObject
    pin: Pin
    versions: dict[str, int] = field(default_factory=dict)
    due_times: list[int] = field(default_factory=list)

    @property
    def scratch(self) -> Scratch:
        """Return where rows are written that were found by their keys."""
        return Scratch(self.writer, self.table("found"))

    def table(self, name: str) -> str:
        """Return the state table of a name."""
        return layout.state_table(self.owner, name)

    def handle_before(self, table: str) -> Handle | None:
        """Return a state table as of the epoch before."""
        version = self.before.version(self.obj.key, table)
        return None if version is None else self.tables.open(table, version)

    def commit_once(
        self, table: str, schema: Schema, build: Callable[[Handle | None], TableChange | None]
    ) -> Handle | None:
        """Return a state table after the epoch: the recorded version, or the one of `build`.

        `build` gets the table as of the epoch before and returns its change. Without a change the
        table stays. None where there is no table.
        """

        def make_change() -> TableChange | None:
            before = self.handle_before(table)
            change = build(before)
            return None if change is None else replace(change, on=before)

        done = self.writer.commit_once(table, schema, make_change, "first_table_committed")
        return self.stay(table) if done is None else self._end_at(done)

    def stay(self, table: str) -> Handle | None:
        """Let a state table end the epoch as it was before; None where there is none."""
        before = self.handle_before(table)
        return None if before is None else self._end_at(before)

    def _end_at(self, handle: Handle) -> Handle:
        """Remember that a state table ends the epoch as it is in a handle."""
        self.versions[handle.table] = handle.version
        return handle

    def read_scratch(
        self, table: str, files: tuple[DataFile, ...], columns: Schema
    ) -> DataFrame | None:
        """Return written, uncommitted rows; None when there are none."""
        if not files:
            return None
        return self.tables.read_paths(self.writer.paths(table, files), columns)

    def fall_due(self, times: Sequence[int]) -> None:
        """Remember times, in microseconds, at which an operator has something to change."""
        self.due_times.extend(times)

    @property
    def first_due(self) -> datetime | None:
        """Return the first time at which an operator has something to change."""
        return datetime_of(min(self.due_times), zoned=True) if self.due_times else None
