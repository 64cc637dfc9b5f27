"""Which files of a folder come next: listing, pinning, and cutting them into splits."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import Any

from floodmark.connectors.base import Discovery, Split
from floodmark.errors import DataError, OutOfReach

PARTITION = 0
"""A folder is one partition."""
_DIGESTED = 64 * 1024
_LEADS_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What the system says of a name that is gone, or of a link that leads to no file."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as a listing saw it: bytes and modification time in nanoseconds."""

    path: Path
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a look into a file says.

    `span` is the number of offsets that the file takes, `rows` the expected number of rows. `exact`
    says that offsets are rows, so that the file can be cut. `extra` goes into the payload. `bad` is
    the reason why the file cannot be read at all.
    """

    span: int
    rows: int
    exact: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    bad: str | None = None


Inspect = Callable[[FoundFile], FileFacts]


def discover_files(
    files: Iterator[FoundFile],
    inspect: Inspect,
    position: int,
    limit: int,
    rest_of: Split | None = None,
) -> tuple[Split, ...]:
    """Cut files into splits of about `limit` rows in all, the first one whatever its size.

    `position` is the next free offset; `rest_of` is the logged split of a file with rows left.
    """
    splits: list[Split] = []
    room = max(limit, 1)
    if rest_of is not None:
        splits.append(_rest(rest_of, room))
        room, position = room - splits[0].estimate, splits[0].end
    for listed in files:
        split = _split_after(splits, listed, inspect, position, room, limit)
        if split is None:
            return tuple(replace(s, partition_end=False) for s in splits)
        splits.append(split)
        room, position = room - split.estimate, split.end
    more = bool(splits) and bool(splits[-1].payload.get("rest"))
    return tuple(replace(s, partition_end=not more) for s in splits)


def _split_after(
    splits: list[Split], listed: FoundFile, inspect: Inspect, position: int, room: int, limit: int
) -> Split | None:
    """Make the next split; a file that is refused is so when its turn comes, not before."""
    if room <= 0:
        return None
    try:
        return _split(listed, inspect, position, room, limit, first=not splits)
    except DataError:
        if not splits:
            raise
        return None


def _split(
    listed: FoundFile, inspect: Inspect, position: int, room: int, limit: int, *, first: bool
) -> Split | None:
    """Make the split of a new file, or None when it has to wait for the next epoch.

    `room` of the `limit` of rows is left.
    """
    facts = inspect(listed)
    pinned = {"file": printable_name(listed.path.name), "size": listed.size, "mtime": listed.mtime}
    if facts.bad is not None:
        return Split(PARTITION, position, position + 1, 1, {**pinned, "bad": facts.bad})
    pinned["digest"] = digest_of(listed.path)
    if facts.exact and facts.rows > room:
        # A file that is taken in whole need not be written anew.
        if not first and room <= limit // 2:
            return None
        payload = {**pinned, **facts.extra, "row": 0, "rows": facts.rows, "rest": True}
        return Split(PARTITION, position, position + room, room, payload)
    if not first and facts.rows > room:
        return None
    exact = {"row": 0, "rows": facts.rows} if facts.exact else {}
    return Split(
        PARTITION,
        position,
        position + facts.span,
        facts.rows,
        {**pinned, **facts.extra, **exact},
    )


def _rest(split: Split, room: int) -> Split:
    """Continue a file after a logged split of it."""
    row = split.payload["row"] + split.end - split.start
    rows = min(split.payload["rows"] - row, room)
    payload = {key: value for key, value in split.payload.items() if key != "rest"}
    payload["row"] = row
    if row + rows < split.payload["rows"]:
        payload["rest"] = True
    return Split(split.partition, split.end, split.end + rows, rows, payload)


def list_new(folder: Path, pattern: str, discovery: Discovery) -> Iterator[FoundFile]:
    """Yield the files that are not logged yet, by name; only these are looked at.

    Hidden and temporary names (`_*`, `.*`, `*.tmp`) and empty files are passed over: they are
    being written.
    """
    for name in sorted(_names(folder, pattern, discovery)):
        listed = stat_file(folder / name)
        if listed is not None and listed.size > 0:
            yield listed


def _names(folder: Path, pattern: str, discovery: Discovery) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                entry.name
                for entry in entries
                if printable_name(entry.name) not in discovery
                and not _is_temporary(entry.name)
                and fnmatchcase(entry.name, pattern)
                and _is_file(entry)
            ]
    except OSError as error:
        raise OutOfReach(
            "E0475",
            f"the folder {folder} cannot be listed: {error.strerror}",
            hint="check the source's path option and the permissions of the folder",
        ) from error


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is a file, or a link that leads to one now."""
    try:
        return entry.is_file()
    except OSError:  # A link in a circle, or through a folder that nobody may enter.
        if entry.is_symlink():
            return False
        raise


def printable_name(name: str) -> str:
    r"""Return a file's name as logs and dead letters have it: as it is, where it is UTF-8.

    >>> printable_name("a.json"), printable_name("caf\udce9.json")
    ('a.json', 'caf\\xe9.json')
    """
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def check_inside(path: Path) -> None:
    """Refuse a link to something outside of its folder: whoever can write there chose it.

    Raises `DataError` E0496.
    """
    target = path.resolve()
    if path.is_symlink() and not target.is_relative_to(path.parent.resolve()):
        raise DataError(
            "E0496",
            f"{printable_path(path)} is a link to {printable_path(target)}, outside of its folder",
            hint="put the file itself there; or set follow_symlinks = 'true', if everybody who "
            "can create links in the folder may read what they point to",
        )


def printable_path(path: Path) -> str:
    """Return a path as text that can be written anywhere."""
    return printable_name(str(path))


def _is_temporary(name: str) -> bool:
    return name.startswith((".", "_")) or name.endswith(".tmp")


def stat_file(path: Path) -> FoundFile | None:
    """Return the file's size and time, or None when it is gone."""
    try:
        status = path.stat()
    except OSError as error:
        if error.errno in _LEADS_NOWHERE:
            return None
        raise
    return FoundFile(path, status.st_size, status.st_mtime_ns)


def digest_of(path: Path) -> str:
    """Return a digest of the beginning and the end of a file: 128 KiB, whatever its size.

    The end of a Parquet file has the statistics of all its columns.
    """
    digest = blake2b(digest_size=12)
    with path.open("rb") as file:
        digest.update(file.read(_DIGESTED))
        start = file.tell()
        file.seek(max(start, file.seek(0, os.SEEK_END) - _DIGESTED))
        digest.update(file.read(_DIGESTED))
    return digest.hexdigest()


def file_change(folder: Path, split: Split, *, digest: bool = False) -> str | None:
    """Say how the file of a logged split has changed since; None where it has not.

    With `digest` its content is looked at, too.
    """
    payload = split.payload
    if "bad" in payload:
        # Nothing of the file is read again: its dead letter is in the log.
        return None
    path = folder / payload["file"]
    listed = stat_file(path)
    if listed is None:
        return f"{path} is gone"
    if listed.size != payload["size"]:
        return f"{path} has changed: {listed.size} bytes instead of {payload['size']}"
    if listed.mtime != payload["mtime"]:
        return f"{path} has changed: its modification time is another"
    if digest and "digest" in payload and digest_of(path) != payload["digest"]:
        return f"{path} has changed: its content is another"
    return None


def check_pinned(folder: Path, split: Split) -> None:
    """Refuse a file that is gone or is not the one that was logged."""
    what = file_change(folder, split)
    if what is not None:
        raise DataError(
            "E0476",
            f"{what}, but epochs refer to its former content",
            hint="put the file back as it was; or ALTER SOURCE … RESUME, which puts it aside as a "
            "dead letter, and deliver its rows under a new name",
        )
