"""The catalog log: every version of the definitions, as the SQL that was applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from floodmark.errors import DataError, TransientError
from floodmark.storage.durability import objects_of
from floodmark.storage.logs.record_files import RecordFiles, raise_missing, refuse_gaps
from floodmark.storage.logs.row_files import EntryRows, flush_rows, from_log, to_log
from floodmark.storage.objects.contract import Location


@dataclass(frozen=True, slots=True)
class AppliedStatement:
    """One statement of a catalog version: its text, where it came from and what it defines.

    `line` and `column` are where it starts in its file, counted from 1. `functions` pins what
    those meant that a source's TRANSFORM USING calls; None pins nothing, as logs of former
    versions do. Corrections of a view's closed rows up to number `corrected` are in its rows.
    `filed` is what the file says of an object that a statement has altered since, and
    `filed_as` how it is called there. `stored` is the name under which its tables lie, where it
    has been renamed. `resolved` is the place of its relative path. `sees` has the columns that
    it knows of by relation, `past` what statements changed of its rows that the text does not
    tell.
    """

    sql: str
    file: str | None
    origin: str
    object: str | None
    line: int = 1
    column: int = 1
    filed: str | None = None
    sees: tuple[tuple[str, tuple[str, ...]], ...] = ()
    past: tuple[tuple[str, ...], ...] = ()
    functions: Mapping[str, str] | None = field(default=None, compare=False)
    corrected: int = field(default=0, compare=False)
    filed_as: str | None = None
    stored: str | None = None
    resolved: str | None = None

    def __post_init__(self) -> None:
        # JSON has lists alone.
        seen = tuple((name, tuple(columns)) for name, columns in self.sees)
        object.__setattr__(self, "sees", seen)
        object.__setattr__(self, "past", tuple(map(tuple, self.past)))


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A catalog version that was rolled back: why, and its changes in words."""

    version: int
    code: str
    message: str
    changes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return both in a line."""
        code = f"[{self.code}] " if self.code else ""
        return f"taken back: {', '.join(self.changes)}: {code}{self.message}"


@dataclass(frozen=True, slots=True)
class CatalogVersion:
    """A catalog version, counted from 1, and the epoch from which it is in force.

    A version with `renamed`, new keys by the former ones, does nothing else. `dml` are the rows
    with which tables begin that the version creates, in the form of statements' rows in the epoch
    log. A version that takes back the one before it has the definitions of the epoch before.
    """

    version: int
    epoch: int
    statements: tuple[AppliedStatement, ...]
    applied_at: datetime
    renamed: Mapping[str, str] = field(default_factory=dict)
    dml: Sequence[EntryRows] = ()
    takes_back: TakenBack | None = None


class CatalogLog:
    """The append-only list of catalog versions of one warehouse."""

    def __init__(self, place: Location) -> None:
        self._objects = objects_of(place)
        self._files = RecordFiles(self._objects, "catalog", "the catalog log")

    def last(self) -> int:
        """Return the newest version's number, 0 before the first; E0431 where one is missing."""
        names = (name.removesuffix(".json") for name in self._files.names())
        numbers = [int(name) for name in names if name.isdecimal()]
        refuse_gaps(numbers, 1, "catalog version", self._files.place)
        return max(numbers, default=0)

    def latest(self) -> CatalogVersion | None:
        """Return the newest version, or None before the first; E0431 where one is missing."""
        last = self.last()
        return self.get(last) if last else None

    def get(self, version: int) -> CatalogVersion:
        """Return a version; one that is not there is a `DataError` E0411."""
        version_record = self._files.body(_name(version), CatalogVersion)
        if version_record is None:
            raise DataError(
                "E0411",
                f"there is no catalog version {version}",
                hint=f"versions go from 1 to {self.last()}",
            )
        return replace(version_record, dml=tuple(from_log(self._objects.place, version_record.dml)))

    def find_take_back(self, version: int) -> TakenBack | None:
        """Return why a version was rolled back; None if it was not."""
        return None if version >= self.last() else self.get(version + 1).takes_back

    def versions(self) -> list[CatalogVersion]:
        """Return all versions that were not rolled back, oldest first."""
        versions = [self.get(version) for version in range(1, self.last() + 1)]
        gone = {v.takes_back.version for v in versions if v.takes_back is not None}
        return [version for version in versions if version.version not in gone]

    def check_has(self, version: int, epoch: int) -> None:
        """Raise E0431 where the version is missing by which an epoch goes."""
        if version > self.last():
            but = f"epoch {epoch} goes by it"
            raise_missing(f"catalog version {version}", but, self._files.place)

    def append(
        self,
        epoch: int,
        statements: Sequence[AppliedStatement],
        applied_at: datetime,
        renamed: Mapping[str, str] | None = None,
        dml: Sequence[Mapping[str, Any]] = (),
        takes_back: TakenBack | None = None,
    ) -> CatalogVersion:
        """Append the next version, after its rows; E0507 when somebody else appended it first."""
        number, defined = self.last() + 1, tuple(statements)
        record = CatalogVersion(
            number, epoch, defined, applied_at, renamed or {}, tuple(dml), takes_back
        )
        flush_rows(self._objects, record.dml)
        logged = {**asdict(record), "dml": to_log(self._objects.place, record.dml)}
        if takes_back is None:
            del logged["takes_back"]
        if not self._files.create(_name(record.version), logged):
            raise TransientError(
                "E0507",
                f"catalog version {record.version} was applied by somebody else",
                hint="run again: the changes are compared with the new version",
            )
        return record


def _name(version: int) -> str:
    return f"{version:08d}.json"
