"""The contract of object stores, which hold a warehouse: a disk, a bucket or memory.

Keys are relative to the store's place, their parts separated by `/`. An object is written whole or
not at all, and its tag changes with every write. One contract suite holds for all implementations.

Errors are the builtin `OSError`s: a wrong path, no permission, a full disk. After `Unavailable`, a
write may have been done.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from floodmark.errors import DataError

_KEY = re.compile(r"(?:(?!\.\.?(?:/|$))[^/\0]+/)*(?!\.\.?$)[^/\0]+")
_LONGEST_KEY = 1024
_LONGEST_PART = 255
"""In bytes: what the narrowest of the stores holds."""
PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}")
"""The last part of a key that a store keeps for what is not whole yet."""


@dataclass(frozen=True, slots=True)
class ObjectHead:
    """Metadata of an object; `modified` is in Unix nanoseconds."""

    size: int
    tag: str
    modified: int


@dataclass(frozen=True, slots=True)
class Exists:
    """The result of `create` if the key has an object already."""

    key: str


@dataclass(frozen=True, slots=True)
class Stale:
    """The result of `replace` if the key has an object with another tag, or none."""

    key: str


class Unavailable(OSError):
    """The store did not answer; with `maybe_done`, a write may have been done."""

    def __init__(self, why: str, key: str, *, maybe_done: bool) -> None:
        super().__init__(errno.EIO, why, key)
        self.maybe_done = maybe_done


class Objects(Protocol):
    """The objects below one place.

    What a store lists, it lists in the order of the keys' bytes.
    """

    @property
    def place(self) -> str:
        """Return the place of the objects, as for people and Spark."""

    def sub_objects(self, folder: str) -> Objects:
        """Return the objects below a folder, with keys that are relative to it."""

    def get(self, key: str, start: int = 0, end: int | None = None) -> tuple[bytes, str] | None:
        """Return the bytes of an object from `start` up to `end`, and its tag; None without one."""

    def head(self, key: str) -> ObjectHead | None:
        """Return the head of an object; None if there is no such object."""

    def create(self, key: str, data: bytes) -> str | Exists:
        """Create an object and return its tag, or `Exists`; one of many writers wins."""

    def replace(self, key: str, data: bytes, tag: str) -> str | Stale:
        """Replace the object that has a tag, and return its new tag, or `Stale`."""

    def list(self, prefix: str = "", after: str = "", *, deep: bool = True) -> Iterator[str]:
        """Yield the keys that begin with a prefix and come after one.

        Unless `deep`, a folder right below that of the prefix stands for its keys, with a `/`.
        """

    def heads(self, prefix: str = "") -> Iterator[tuple[str, ObjectHead]]:
        """Yield the keys that begin with a prefix, and what is known of each object.

        What is no object, or is removed meanwhile, is left out.
        """

    def last_write(self, folder: str) -> int | None:
        """Return when something below a folder was written last, as `ObjectHead.modified` says it.

        None where there is no such folder.
        """

    def make(self) -> None:
        """Make the place, where that is a folder: who writes without this store needs it."""

    def upload(self, key: str, path: Path) -> str:
        """Write a local file as an object, over one that is there, and return its tag.

        See `flush`, here and with `copy`.
        """

    def copy(self, source: str, key: str) -> str:
        """Write an object of this store under another key, too; `FileNotFoundError` without it."""

    def move(self, source: str, key: str) -> None:
        """Give an object of this store another key; `FileNotFoundError` without it."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored."""

    def remove(self, folder: str, aside: str = "") -> None:
        """Remove everything below a folder, as far as the store allows it.

        `aside` is this store's folder for what is being removed. A store that can rename moves the
        folder there first, so that readers see it go at once. What was left in `aside` is removed,
        too.
        """

    def prune(self, folder: str = "") -> None:
        """Remove what a store keeps of a folder without objects, and of those below it."""

    def flush(self, keys: Iterable[str]) -> None:
        """Wait until objects that others have written, or that were copied, outlive a power cut.

        Objects that are created or replaced do so at once, in a store that is durable at all.
        """

    def lock(self, key: str, *, wait: bool = True) -> AbstractContextManager[bool]:
        """Lock a key for a block; without `wait`, yields False if another process has it.

        The lock ends with its process.
        """

    def spark_url(self, key: str) -> str:
        """Return the name by which Spark finds an object."""


Location = str | Path | Objects
"""Where a warehouse lies: a folder, by its path, or any store."""


def check_key(key: str) -> str:
    """Return a key; E0401 for one that could leave its place, or that no store holds.

    >>> check_key("public/t/_delta_log/0.json")
    'public/t/_delta_log/0.json'
    """
    if not _is_key(key):
        _refuse(key)
    return key


def _is_key(key: str) -> bool:
    parts = key.split("/")
    if not _KEY.fullmatch(key) or PARTIAL.fullmatch(parts[-1]):
        return False
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return False
    return max(sizes) <= _LONGEST_PART and sum(sizes) + len(sizes) - 1 <= _LONGEST_KEY


def check_prefix(prefix: str) -> str:
    """Return the beginning of keys; E0401 where no key begins so."""
    folder, slash, _ = prefix.rpartition("/")
    if "\0" in prefix:
        _refuse(prefix)
    if slash:
        check_key(folder)
    return prefix


def _refuse(key: str) -> NoReturn:
    raise DataError(
        "E0401",
        f"{key[:80]!r} is not the key of an object",
        hint="make table names with floodmark.storage.warehouse",
    )


def folders_in(objects: Objects, folder: str = "", depth: int = 1) -> Iterator[str]:
    """Yield the folders that lie so deep below one, the place by default; none below a file."""
    keys = list[str]()
    with suppress(NotADirectoryError):
        keys += objects.list(f"{folder}/" if folder else "", deep=False)
    for key in keys:
        if key.endswith("/"):
            found = key.removesuffix("/")
            yield from (found,) if depth == 1 else folders_in(objects, found, depth - 1)


def create_once(objects: Objects, key: str, data: bytes) -> bool:
    """Create an object that nobody else writes alike; return False where there is another.

    Where the answer is lost, the object says whether it came.
    """
    try:
        return not isinstance(objects.create(key, data), Exists)
    except Unavailable as error:
        found = _read_back(objects, key, error)
        if found is None:
            raise
        return found == data


def replace_once(objects: Objects, key: str, data: bytes, tag: str) -> bool:
    """Replace an object by one that nobody else writes alike; return False for a stale tag."""
    try:
        return not isinstance(objects.replace(key, data, tag), Stale)
    except Unavailable as error:
        if _read_back(objects, key, error) != data:
            raise
        return True


def _read_back(objects: Objects, key: str, error: Unavailable) -> bytes | None:
    """Return what a key has after a write whose answer was lost."""
    if not error.maybe_done:
        raise error
    found = objects.get(key)
    return None if found is None else found[0]
