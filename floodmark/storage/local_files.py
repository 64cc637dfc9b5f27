"""Local disk operations: folders, atomic writes, flushes, and their errors."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from floodmark.errors import DataError, FloodmarkError, TransientError

_Store = TypeVar("_Store")
_P = ParamSpec("_P")
_T = TypeVar("_T")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_OF_PATHS = (
    None, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
    errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO,
)  # fmt: skip
"""What is wrong with one path and not with the disk. Arrow has no number for damaged files."""


def make_folder(folder: Path, *, durable: bool) -> None:
    """Make a folder and those above it where they are missing; `durable` ones are on the disk."""
    above = [folder, *folder.parents]
    missing = above[: next(i for i, f in enumerate(above) if f.is_dir())]
    folder.mkdir(parents=True, exist_ok=True)
    if durable:
        for made in missing:
            flush(made.parent)


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_files(base: Path, paths: Iterable[str | Path]) -> None:
    """Wait until files are on the disk, then the names in all folders between them and `base`."""
    folders: dict[Path, None] = {}
    for path in (base / relative for relative in paths):
        flush(path)
        folders.update(dict.fromkeys(p for p in path.parents if p == base or base in p.parents))
    for folder in folders:
        flush(folder)


def remove_folder(folder: Path, aside: Path) -> None:
    """Remove a folder, in one step for those who look for it: it is put aside first.

    What somebody was killed over before goes with it.
    """
    while folder.is_dir():
        aside.mkdir(parents=True, exist_ok=True)
        try:
            folder.rename(aside / uuid.uuid4().hex)
        except FileNotFoundError:
            continue
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            break
    shutil.rmtree(aside, ignore_errors=True)


def replace_file(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file whole over an older one; what is `durable` is on the disk on return."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_text(text, encoding="utf-8")
        if durable:
            flush(temporary)
        temporary.replace(path)
        if durable:
            flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn what the operating system refuses into an error that names the table or file.

    `what` is what cannot be read or written. A broken pipe is nothing of the disk's.
    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        raise disk_error(error, what) from error


def disk_error(error: OSError, what: str) -> FloodmarkError:
    """Return E0504 for a full disk, E0455 for a path, E0545 where the disk itself fails."""
    path = "" if error.filename is None else f" ({error.filename})"
    if error.errno in _FULL:
        return TransientError(
            "E0504",
            f"the disk is full: {what} cannot be written{path}",
            hint="free space on the disk and run again; no file is half-written",
        )
    said = f"{what} cannot be read or written{path}: {error.strerror or error}"
    if error.errno in _OF_PATHS:
        return DataError(
            "E0455",
            said,
            hint="restore the file or folder, or change its owner or permissions; then run "
            "again, and RESUME the suspended objects",
        )
    return TransientError(
        "E0545",
        said,
        hint="look at the disk and its mount; the next run goes on where this one stopped",
    )


def reading_log(
    method: Callable[Concatenate[_Store, str, _P], _T],
) -> Callable[Concatenate[_Store, str, _P], _T]:
    """Let a method of a store, called with a table, raise what the system refuses of its log."""

    @wraps(method)
    def reading(store: _Store, table: str, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with disk_errors(table):
            return method(store, table, *args, **kwargs)

    return reading
