"""The tables of dropped objects, until their folders are gone: written down before the DROP is.

`_floodmark/leaving.json` is there from before the version of the definitions that does without the
objects until after their folders have gone; whoever comes next goes on with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from floodmark.storage.local_files import disk_errors, replace_file
from floodmark.storage.records import read_record, to_text
from floodmark.storage.warehouse import engine_folder


@dataclass(frozen=True, slots=True)
class Leaving:
    """The tables that go once an epoch of a catalog version is sealed."""

    version: int
    tables: Sequence[str] = ()


class LeavingTables:
    """The record of what leaves one warehouse; its writer holds the lease."""

    def __init__(self, root: str | Path) -> None:
        self._path = engine_folder(root) / "leaving.json"

    def read(self) -> Leaving | None:
        """Return what leaves; None where nothing does."""
        data = read_record(self._path)
        return None if data is None else Leaving(**data)

    def write(self, version: int, tables: Sequence[str]) -> None:
        """Record what goes with a version that is not logged yet."""
        with disk_errors("the record of tables that leave"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, to_text(asdict(Leaving(version, tables))))

    def forget(self) -> None:
        """Remove the record: the tables are gone, or the version was never logged."""
        self._path.unlink(missing_ok=True)
