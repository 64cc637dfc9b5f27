"""The rows of statements as files, from when a statement runs until no kept epoch needs them.

Each has a folder of its own below that of the engine: Spark writes there, and so does this process.
The record of an epoch names these files as Spark knows them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from floodmark.storage.files.statistics import read_footer
from floodmark.storage.objects.contract import Objects, folders_in
from floodmark.storage.plain_files import is_file
from floodmark.storage.table import DataFile
from floodmark.storage.warehouse import ENGINE, STATEMENTS, escape

_FOLDER = f"{ENGINE}/{STATEMENTS}"


@dataclass(frozen=True, slots=True)
class StatementFiles:
    """The files of one statement's rows."""

    objects: Objects
    folder: str

    @classmethod
    def new(cls, objects: Objects, target: str) -> StatementFiles:
        """Return where the rows of a statement go that changes an object; nothing is made."""
        return cls(objects, f"{_FOLDER}/{escape(target)}-{secrets.token_hex(8)}")

    @property
    def url(self) -> str:
        """Return the folder as Spark knows it."""
        return self.objects.spark_url(self.folder)

    def paths(self) -> list[str]:
        """Return the files in order, as Spark knows them."""
        keys = self.objects.list(f"{self.folder}/", deep=False)
        return [self.objects.spark_url(key) for key in keys if key.endswith(".parquet")]

    def footers(self) -> list[DataFile]:
        """Return the files that have rows, in order; each by its path."""
        files = (read_footer(path, path) for path in self.paths())
        return [file for file in files if file.rows]

    def discard(self) -> None:
        """Remove the files: no epoch takes them in."""
        self.objects.remove(self.folder)


def is_kept(entries: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether the files of statements' rows are there, all of them."""
    return all(is_file(path) for entry in entries for path in entry["paths"])


def expire_statements(
    objects: Objects, written_before: datetime, needed: Callable[[], Collection[str]]
) -> int:
    """Remove the rows of statements that were written before a time; return of how many.

    Those stay that have some of the `needed` files, which is asked where there are any.
    """
    limit = written_before.timestamp() * 1e9
    old = [f for f in folders_in(objects, _FOLDER) if _is_before(objects, f, limit)]
    if not old:
        return 0
    kept = {path.rpartition("/")[0] for path in needed()}
    gone = [folder for folder in old if objects.spark_url(folder) not in kept]
    for folder in gone:
        objects.remove(folder)
    return len(gone)


def _is_before(objects: Objects, folder: str, limit: float) -> bool:
    last = objects.last_write(folder)
    return last is not None and last < limit
