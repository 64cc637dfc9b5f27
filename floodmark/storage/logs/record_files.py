"""The records of a log: each an object that is put in place once, or replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.storage.durability import objects_of
from floodmark.storage.local_files import disk_errors
from floodmark.storage.objects.contract import Location, create_once, replace_once
from floodmark.storage.records.text import (
    DAMAGED,
    Record,
    new_id,
    number_in,
    parse_record,
    read_record,
    record_text,
)
from floodmark.storage.warehouse import ENGINE, GONE

_T = TypeVar("_T")


class RecordFiles:
    """The records below one folder of a warehouse's engine; `title` is what people call them.

    Names are keys relative to the folder. What a record says becomes of the `kind` that the
    reader names, a dataclass or a dict; where it is of another, the record is damaged.
    """

    def __init__(self, place: Location, folder: str, title: str) -> None:
        engine = objects_of(place).sub_objects(ENGINE)
        self._objects = engine.sub_objects(folder) if folder else engine
        self._title = title
        self._read_tagged = lru_cache(LIMITS.records_in_memory)(
            lambda name, _tag, kind: self.read_record(name, kind)
        )

    @property
    def place(self) -> str:
        """Return where the records lie, for messages."""
        return self._objects.place

    def names(self, folder: str = "") -> list[str]:
        """Return the names in the folder, or in one below it, those of folders included."""
        return [name.removesuffix("/") for name in self._list_keys(folder)]

    def folders(self) -> list[str]:
        """Return the names of the folders in the folder."""
        return [name[:-1] for name in self._list_keys("") if name.endswith("/")]

    def _list_keys(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        with disk_errors(self._title):
            return [k.removeprefix(start) for k in self._objects.list(start, deep=False)]

    def has(self, name: str) -> bool:
        """Tell whether there is a record, however damaged."""
        with disk_errors(self._title):
            return self._objects.head(name) is not None

    def text(self, name: str) -> str | None:
        """Return the text of a record as it is; None where there is none."""
        found = self._get(name)
        return None if found is None else found[0].decode("utf-8", "replace")

    def read_record(self, name: str, kind: Any = Any) -> Record | None:
        """Return a record, or None where there is none; raises E0409, E0430 and E0432.

        E0455 and its like where the system refuses to read it, here as anywhere in the log.
        """
        with disk_errors(self._title):
            return read_record(self._objects, name, kind)

    def read_immutable(self, name: str, kind: type) -> Record | None:
        """Return a record that is never replaced; see `read_record`.

        It is read again only where its object has another tag: somebody has changed it.
        """
        with disk_errors(self._title):
            head = self._objects.head(name)
        return None if head is None else self._read_tagged(name, head.tag, kind)

    def body(self, name: str, kind: type[_T]) -> _T | None:
        """Return what a record says, or None where there is none."""
        record = self.read_record(name, kind)
        return None if record is None else record.body

    def read_derived(self, name: str, kind: type[_T]) -> _T | None:
        """Return what a record says that can be found out again; None where it is damaged."""
        try:
            return self.body(name, kind)
        except DataError as error:
            if error.code not in DAMAGED:
                raise
            return None

    def create(self, name: str, body: Any, *, id: str | None = None, number: int = 0) -> bool:
        """Put a record in place; return False where there is one.

        `number` is that of a record whose name says none.
        """
        with disk_errors(self._title):
            return create_once(self._objects, name, self._data(name, body, number, id))

    def replace(self, name: str, body: Any, *, derived: bool = False) -> None:
        """Put a record in the place of the one before it, whose number it counts on.

        A `derived` one takes the place of a damaged one, too: what that said can be found out.
        """
        while not self._replace_read(name, body, self._get(name), derived):
            pass  # somebody else has put one in place meanwhile

    def _replace_read(
        self, name: str, body: Any, before: tuple[bytes, str] | None, derived: bool
    ) -> bool:
        """Put a record in the place of one that was read; return False where it is another now."""
        if before is None:
            return self.create(name, body, number=1)
        data = self._data(name, body, self._number_of(name, before[0], derived) + 1, None)
        with disk_errors(self._title):
            return replace_once(self._objects, name, data, before[1])

    def _number_of(self, name: str, data: bytes, derived: bool) -> int:
        try:
            return parse_record(data, self._objects.spark_url(name)).number
        except DataError as error:
            if not derived or error.code not in DAMAGED:
                raise
            return 0

    def remove(self, name: str) -> None:
        """Remove a record, if it is there."""
        with disk_errors(self._title):
            self._objects.delete([name])

    def remove_folder(self, name: str) -> None:
        """Remove a folder of the engine; of the files of the engine itself alone."""
        self._objects.remove(name, GONE)

    @contextmanager
    def lock(self, name: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold a name alone for a block; see `Objects.lock`."""
        with ExitStack() as held:
            with disk_errors(self._title):
                mine = held.enter_context(self._objects.lock(name, wait=wait))
            yield mine

    def _get(self, name: str) -> tuple[bytes, str] | None:
        with disk_errors(self._title):
            return self._objects.get(name)

    def _data(self, name: str, body: Any, number: int, id: str | None) -> bytes:
        plain = name.rsplit("/", 1)[-1]
        said = number_in(plain)
        record = Record(body, number if said is None else said, id or new_id())
        return record_text(plain, record).encode("ascii")


def refuse_gaps(given: Iterable[int], first: int, what: str, folder: str) -> None:
    """Raise `DataError` E0431 unless numbers are all those from `first` to the highest.

    E0432 where there is one below the first: it belongs elsewhere.
    """
    numbers = set(given)
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


def raise_missing(what: str, but: str, folder: str) -> NoReturn:
    """Raise the error for a record that has to be there."""
    raise DataError(
        "E0431",
        f"the record of {what} is missing in {folder}, and {but}",
        hint="restore _floodmark from a backup; nothing has been changed",
    )
