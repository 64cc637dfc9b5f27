"""The files of a log: each a record that is put in place once and whole, or replaced as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from floodmark.errors import DataError
from floodmark.storage.durability import is_durable
from floodmark.storage.local_files import disk_errors, make_folder, put_if_absent, replace_file
from floodmark.storage.records import DAMAGED, Record, new_id, number_in, read_record, sealed_text
from floodmark.storage.warehouse import engine_folder

_T = TypeVar("_T")


class RecordFiles:
    """The records below one folder of a warehouse's engine; `title` is what people call them.

    Names are paths relative to the folder. What a record says becomes of the `kind` that the
    reader names, a dataclass or a dict; where it is of another, the record is damaged.
    """

    def __init__(self, root: str | Path, folder: str, title: str) -> None:
        self.folder = engine_folder(root) / folder
        self._root = root
        self._title = title

    @cached_property
    def durable(self) -> bool:
        """Tell whether what is put in place is on the disk then."""
        return is_durable(self._root)

    def make(self) -> None:
        """Make the folder, where it is missing."""
        with disk_errors(self._title):
            make_folder(self.folder, durable=self.durable)

    def names(self, folder: str = "") -> list[str]:
        """Return the names in the folder, or in one below it, in no order."""
        with disk_errors(self._title):
            try:
                return os.listdir(self.folder / folder)
            except FileNotFoundError:
                return []

    def read(self, name: str, kind: Any = Any) -> Record | None:
        """Return a record, or None where there is none; raises E0409, E0430 and E0432.

        E0455 and its like where the system refuses to read it, here as anywhere in the log.
        """
        with disk_errors(self._title):
            return read_record(self.folder / name, kind)

    def body(self, name: str, kind: type[_T]) -> _T | None:
        """Return what a record says, or None where there is none."""
        record = self.read(name, kind)
        return None if record is None else record.body

    def derived(self, name: str, kind: type[_T]) -> _T | None:
        """Return what a record says that can be found out again; None where it is damaged."""
        record = self._unless_damaged(name, kind)
        return None if record is None else record.body

    def _unless_damaged(self, name: str, kind: Any = Any) -> Record | None:
        try:
            return self.read(name, kind)
        except DataError as error:
            if error.code not in DAMAGED:
                raise
            return None

    def put(self, name: str, body: Any, *, id: str | None = None, number: int = 0) -> bool:
        """Put a record in place; return False where there is one.

        `number` is that of a record whose name says none.
        """
        path = self.folder / name
        with disk_errors(self._title):
            make_folder(path.parent, durable=self.durable)
            return put_if_absent(path, self._text(name, body, number, id), durable=self.durable)

    def replace(self, name: str, body: Any, *, derived: bool = False) -> None:
        """Put a record in the place of the one before it, whose number it counts on.

        A `derived` one takes the place of a damaged one, too: what that said can be found out.
        """
        path = self.folder / name
        before = self._unless_damaged(name) if derived else self.read(name)
        number = 1 if before is None else before.number + 1
        with disk_errors(self._title):
            make_folder(path.parent, durable=self.durable)
            replace_file(path, self._text(name, body, number, None), durable=self.durable)

    def remove(self, name: str) -> None:
        """Remove a record, if it is there."""
        with disk_errors(self._title):
            (self.folder / name).unlink(missing_ok=True)

    def _text(self, name: str, body: Any, number: int, id: str | None) -> str:
        plain = name.rsplit("/", 1)[-1]
        said = number_in(plain)
        record = Record(body, number if said is None else said, id or new_id())
        return sealed_text(plain, record)


def refuse_gaps(found: Iterable[int], first: int, what: str, folder: Path) -> None:
    """Raise `DataError` E0431 unless numbers are all those from `first` to the highest.

    E0432 where there is one below the first: it belongs elsewhere.
    """
    numbers = set(found)
    last = max(numbers, default=first - 1)
    if min(numbers, default=first) < first:
        raise DataError(
            "E0432",
            f"{what} {min(numbers)} is in {folder}, where {what} {first} is the first",
            hint="records were moved or copied over each other: restore _floodmark from a backup",
        )
    if len(numbers) != last - first + 1:
        missing = next(n for n in range(first, last) if n not in numbers)
        raise_missing(f"{what} {missing}", f"{what} {last} is there", folder)


def raise_missing(what: str, but: str, folder: Path) -> NoReturn:
    """Raise the error for a record that has to be there."""
    raise DataError(
        "E0431",
        f"the record of {what} is missing in {folder}, and {but}",
        hint="restore _floodmark from a backup; nothing has been changed",
    )
