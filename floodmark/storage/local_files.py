"""The part of a store that is plain local files: stage folders, footers, atomic writes."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from floodmark.errors import DataError, FloodmarkError, TransientError
from floodmark.storage.delivered import folder_of, with_bounds
from floodmark.storage.statistics import read_footer
from floodmark.storage.table import DataFile, Handle
from floodmark.storage.warehouse import local_root, table_folder

_Store = TypeVar("_Store")
_P = ParamSpec("_P")
_T = TypeVar("_T")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_OF_PATHS = (
    None, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
    errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO,
)  # fmt: skip
"""What is wrong with one path and not with the disk. Arrow has no number for damaged files."""


class LocalFiles:
    """Stage folders below the tables of a local warehouse."""

    def __init__(self, root: str | Path) -> None:
        self.root = local_root(root)

    def folder(self, table: str) -> Path:
        """Return the absolute folder of a table."""
        return table_folder(self.root, table)

    def stage(self, table: str, epoch: int, attempt: int) -> str:
        """Return the absolute folder for the files of one attempt; not yet created."""
        return str(self.folder(table) / f"{epoch}-{attempt}")

    def staged(self, table: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Read the footers below a stage folder, by path; files without rows are left out."""
        base = self.folder(table)
        stage = Path(self.stage(table, epoch, attempt))
        with disk_errors(table):
            files = [read_footer(p, p.relative_to(base).as_posix()) for p in _parquet_files(stage)]
        return tuple(file for file in files if file.rows > 0)

    def adopt(self, table: str, folder: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Move the Parquet files of `folder` into the table's stage folder."""
        stage = Path(self.stage(table, epoch, attempt))
        with disk_errors(table):
            stage.mkdir(parents=True, exist_ok=True)
            for source in list(_parquet_files(Path(folder))):
                shutil.move(source, stage / f"adopted-{uuid.uuid4().hex}.parquet")
        return self.staged(table, epoch, attempt)

    def share(
        self, table: str, paths: Sequence[str], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Link files of another table into the table's stage folder."""
        stage = Path(self.stage(table, epoch, attempt))
        with disk_errors(table):
            stage.mkdir(parents=True, exist_ok=True)
            for path in paths:
                os.link(path, stage / f"shared-{uuid.uuid4().hex}.parquet")
        return self.staged(table, epoch, attempt)

    def take(
        self, table: str, files: Sequence[tuple[str, int]], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Copy delivered files into the table's folder; see `Store.take`."""
        base, taken = self.folder(table), []
        with disk_errors(table):
            for path, first in files:
                copy = base / folder_of(epoch, first) / f"{attempt}-{uuid.uuid4().hex}.parquet"
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
                taken.append(with_bounds(read_footer(copy, copy.relative_to(base).as_posix())))
        return tuple(file for file in taken if file.rows > 0)

    def paths(self, handle: Handle, files: Sequence[DataFile] | None = None) -> list[str]:
        """Return the absolute paths of all files of the handle or of those given."""
        base = self.folder(handle.table)
        return [f"{base}/{file.path}" for file in (handle.files if files is None else files)]


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
            hint="free space on the disk and run again; nothing is half-written",
        )
    said = f"{what} cannot be read or written{path}: {error.strerror or error}"
    if error.errno in _OF_PATHS:
        return DataError(
            "E0455",
            said,
            hint="put back what was there, or change its owner or permissions; then run again, "
            "and RESUME what is suspended",
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


def _parquet_files(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(names):
            if name[0] not in "._" and name.endswith(".parquet"):
                yield Path(base, name)
