"""The objects of a warehouse on a local disk: files and folders.

An object gets its name by a hard link, which refuses one that is there, or by a rename over the one
before it. In a durable warehouse a file that is created or replaced is on the disk before it has
its name, and the name when the call returns.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from floodmark.storage.local_files import flush, flush_files, make_folder, remove_folder
from floodmark.storage.locks import exclusive, exclusive_if_free
from floodmark.storage.objects.contract import (
    PARTIAL,
    Exists,
    ObjectHead,
    Stale,
    check_key,
    check_prefix,
)
from floodmark.storage.plain_files import check_plain

_LONGEST_NAME = 50
"""Characters of an object's name in that of the file that is to become it."""


class LocalObjects:
    """The files below one folder; `durable` may be asked for whenever it is needed."""

    def __init__(self, root: str | Path, durable: bool | Callable[[], bool] = False) -> None:
        self._root = Path(root)
        self._durable = durable

    @property
    def durable(self) -> bool:
        """Tell whether written objects are on the disk when a call returns."""
        return self._durable if isinstance(self._durable, bool) else self._durable()

    @property
    def place(self) -> str:
        """See `Objects.place`."""
        return str(self._root)

    def sub_objects(self, folder: str) -> LocalObjects:
        """See `Objects.sub_objects`."""
        return LocalObjects(self._path(folder), self._durable)

    def get(self, key: str, start: int = 0, end: int | None = None) -> tuple[bytes, str] | None:
        """See `Objects.get`."""
        path = self._path(key)
        try:
            check_plain(path)
            with path.open("rb") as file:
                file.seek(start)
                data = file.read(-1 if end is None else max(end - start, 0))
                return data, _tag(os.fstat(file.fileno()))
        except FileNotFoundError:
            return None

    def head(self, key: str) -> ObjectHead | None:
        """See `Objects.head`."""
        try:
            stat = check_plain(self._path(key))
        except FileNotFoundError:
            return None
        return ObjectHead(stat.st_size, _tag(stat), stat.st_mtime_ns)

    def create(self, key: str, data: bytes) -> str | Exists:
        """See `Objects.create`."""
        path = self._path(key)
        with self._write_temporary(
            path, lambda new: new.write_bytes(data), self.durable
        ) as temporary:
            try:
                os.link(temporary, path)
            except FileExistsError:
                return Exists(key)
            tag = _tag(temporary.stat())
        self._flush_name(path)
        return tag

    def replace(self, key: str, data: bytes, tag: str) -> str | Stale:
        """See `Objects.replace`."""
        path = self._path(key)
        with _hold_file(path) as stat:
            if stat is None or _tag(stat) != tag:
                return Stale(key)
            with self._write_temporary(
                path, lambda new: new.write_bytes(data), self.durable
            ) as temporary:
                _date_after(temporary, stat)
                replaced = _tag(temporary.stat())
                temporary.replace(path)
        self._flush_name(path)
        return replaced

    def list(self, prefix: str = "", after: str = "", *, deep: bool = True) -> Iterator[str]:
        """See `Objects.list`."""
        folder, slash, start = check_prefix(prefix).rpartition("/")
        yield from self._list_keys(f"{folder}{slash}", start, after, deep)

    def heads(self, prefix: str = "") -> Iterator[tuple[str, ObjectHead]]:
        """See `Objects.heads`."""
        for key in self.list(prefix):
            head = None
            with suppress(OSError):
                head = self.head(key)
            if head is not None:
                yield key, head

    def last_write(self, folder: str) -> int | None:
        """See `Objects.last_write`: a folder is written to as a name in it comes or goes."""
        times = list[int]()
        for base, _, names in os.walk(self._path(folder)):
            for path in (base, *(f"{base}/{name}" for name in names)):
                with suppress(FileNotFoundError):
                    times.append(os.lstat(path).st_mtime_ns)
        return max(times, default=None)

    def make(self) -> None:
        """See `Objects.make`."""
        self._root.mkdir(parents=True, exist_ok=True)

    def upload(self, key: str, path: Path) -> str:
        """See `Objects.upload`."""
        check_plain(path)
        target = self._path(key)
        return self._put_file(target, lambda new: shutil.copyfile(path, new))

    def copy(self, source: str, key: str) -> str:
        """See `Objects.copy`: both are one file, which nobody changes."""
        path, target = self._path(source), self._path(key)
        check_plain(path)
        return self._put_file(target, lambda new: os.link(path, new))

    def move(self, source: str, key: str) -> None:
        """See `Objects.move`."""
        path, target = self._path(source), self._path(key)
        check_plain(path)
        make_folder(target.parent, durable=False)
        path.replace(target)

    def delete(self, keys: Iterable[str]) -> None:
        """See `Objects.delete`."""
        for key in keys:
            self._path(key).unlink(missing_ok=True)

    def remove(self, folder: str, aside: str = "") -> None:
        """See `Objects.remove`."""
        if aside:
            remove_folder(self._path(folder), self._path(aside))
        else:
            shutil.rmtree(self._path(folder), ignore_errors=True)

    def prune(self, folder: str = "") -> None:
        """See `Objects.prune`."""
        top = self._path(folder) if folder else self._root
        for base, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):  # it has something in it
                os.rmdir(base)

    def flush(self, keys: Iterable[str]) -> None:
        """See `Objects.flush`."""
        if self.durable:
            flush_files(self._root, [check_key(key) for key in keys])

    @contextmanager
    def lock(self, key: str, *, wait: bool = True) -> Iterator[bool]:
        """See `Objects.lock`."""
        path = self._path(key)
        make_folder(path.parent, durable=self.durable)
        with _lock_file(path, wait) as mine:
            yield mine

    def spark_url(self, key: str) -> str:
        """See `Objects.spark_url`."""
        return str(self._path(key))

    def _path(self, key: str) -> Path:
        return self._root / check_key(key)

    def _list_keys(self, folder: str, start: str, after: str, deep: bool) -> Iterator[str]:
        for name in _names(self._root / folder, start):
            key = folder + name
            if deep and name.endswith("/"):
                if key > after or after.startswith(key):
                    yield from self._list_keys(key, "", after, deep)
            elif key > after:
                yield key

    @contextmanager
    def _write_temporary(
        self, path: Path, write: Callable[[Path], object], durable: bool
    ) -> Iterator[Path]:
        """Give what a call has written to a file beside that of an object, for the block."""
        temporary = path.with_name(f".{path.name[:_LONGEST_NAME]}.{uuid.uuid4().hex}")
        try:
            try:
                write(temporary)
            except FileNotFoundError:
                make_folder(path.parent, durable=durable)
                write(temporary)
            if durable:
                flush(temporary)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def _put_file(self, path: Path, write: Callable[[Path], object]) -> str:
        """Put what a call writes in the place of an object; it is flushed with others."""
        with self._write_temporary(path, write, durable=False) as temporary:
            tag = _tag(temporary.stat())
            temporary.replace(path)
        return tag

    def _flush_name(self, path: Path) -> None:
        if self.durable:
            flush(path.parent)


def _tag(stat: os.stat_result) -> str:
    """Return the tag of a file: inodes alone are used again for the next one."""
    return f"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"


@contextmanager
def _hold_file(path: Path) -> Iterator[os.stat_result | None]:
    """Give what a file is while nobody else replaces it; None where it goes meanwhile, or is not.

    Who waits for the lock of a file finds another one under its name afterwards.
    """
    try:
        check_plain(path)
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield _if_named(os.fstat(handle), path)
    finally:
        os.close(handle)


def _if_named(stat: os.stat_result, path: Path) -> os.stat_result | None:
    try:
        return stat if os.path.samestat(stat, path.stat()) else None
    except FileNotFoundError:
        return None


def _date_after(path: Path, before: os.stat_result) -> None:
    """Let a file be later than another, whatever the clock says: no tag comes back."""
    stat = path.stat()
    if stat.st_mtime_ns <= before.st_mtime_ns:
        os.utime(path, ns=(stat.st_atime_ns, before.st_mtime_ns + 1))


def _names(folder: Path, start: str) -> list[str]:
    """Return the names in a folder that begin so, in order; those of folders end with `/`.

    A link to a folder is none: what lies there is not the store's.
    """
    try:
        with os.scandir(folder) as entries:
            started = (entry for entry in entries if entry.name.startswith(start))
            names = [e.name + "/" * e.is_dir(follow_symlinks=False) for e in started]
    except FileNotFoundError:
        return []
    return sorted(name for name in names if _is_name(name))


def _is_name(name: str) -> bool:
    """Tell whether a name can be part of a key, and is not of what is being written."""
    if name[0] == "." and PARTIAL.fullmatch(name):
        return False
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


@contextmanager
def _lock_file(path: Path, wait: bool) -> Iterator[bool]:
    if wait:
        with exclusive(path):
            yield True
    else:
        with exclusive_if_free(path) as mine:
            yield mine
