"""The files of a warehouse as of a sealed epoch: records, rows of statements, tables.

What is written just then is none of them: Spark's files of a statement that runs, records after the
epoch, and versions of tables that the epoch does not pin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from floodmark.storage import corrected, delta_log
from floodmark.storage.epoch_log import BUCKET, EpochLog
from floodmark.storage.local_objects import LocalObjects
from floodmark.storage.object_record import versions_of
from floodmark.storage.objects import Objects
from floodmark.storage.retention import Retention
from floodmark.storage.seed import NAME as SEED
from floodmark.storage.table import DataFile
from floodmark.storage.warehouse import (
    BACKFILLS,
    CORRECTIONS,
    GONE,
    REPLAYS,
    STATEMENTS,
    engine_folder,
)

_OTHERS = frozenset(
    {
        "lease",
        GONE,
        REPLAYS,
        BACKFILLS,
        STATEMENTS,
        "reported.json",
        "reported.lock",
        "leaving.json",
        # Says what is committed while a backup is written, behind the commits that it has.
        corrected.NAME,
    }
)
"""What of the engine's folder is of one process, of a moment after the epoch, or of a statement."""


def files_of(root: Path, epoch: int) -> Iterator[str]:
    """Yield the files of a warehouse as of a sealed epoch, relative to its root.

    Raises `FileNotFoundError` where a log that tells them is not there (any more), and for a file
    that is not whole.
    """
    kept = min(Retention(root).read().oldest, epoch)
    log = EpochLog(root)
    yield from _engine_files(root, epoch, log.opened(epoch).catalog_version)
    yield from files_of_statements(root, log, kept, epoch)
    oldest = versions_of(log.sealed(kept).objects.values())
    for table, version in versions_of(log.sealed(epoch).objects.values()).items():
        yield from _table_files(root, table, oldest.get(table, 0), version)
    for folder in sorted((root / CORRECTIONS).glob("*/*")):
        snapshot = delta_log.load(LocalObjects(folder))
        if snapshot is not None:
            table = folder.relative_to(root).as_posix()
            yield from _table_files(root, table, 0, snapshot.version)


def files_of_statements(root: Path, log: EpochLog, first: int, last: int) -> Iterator[str]:
    """Yield the files of rows that statements gave to the epochs from `first` to `last`.

    The first rows of a table are among them: the epoch that a catalog version begins with has them.
    """
    for epoch in range(first, last + 1):
        for entry in log.opened(epoch).dml:
            yield from (Path(path).relative_to(root).as_posix() for path in entry["paths"])


def _engine_files(root: Path, epoch: int, version: int) -> Iterator[str]:
    """Yield the files of the engine's folder up to an epoch and a catalog version.

    A folder in the place of one is among them: it is no file that may be left out.
    """
    engine = engine_folder(root)
    for base, folders, names in os.walk(engine):
        place = Path(base)
        if place == engine:
            folders[:] = sorted(name for name in folders if name not in _OTHERS)
            names = [name for name in names if name not in _OTHERS]
        names += [name for name in folders if name == SEED or name.endswith(".json")]
        for name in sorted(names):
            if not name.startswith(".") and _is_up_to(place, name, epoch, version):
                yield (place / name).relative_to(root).as_posix()


def _is_up_to(folder: Path, name: str, epoch: int, version: int) -> bool:
    """Tell whether a file of the engine's folder is of an epoch and catalog version, or before."""
    number = name.partition(".")[0]
    if folder.parent.name == "epochs":
        if number.isdigit():
            return int(number) <= epoch
        return (int(folder.name) + 1) * BUCKET - 1 <= epoch
    if folder.name == "catalog" and number.isdigit():
        return int(number) <= version
    return True


def _table_files(root: Path, table: str, oldest: int, version: int) -> Iterator[str]:
    """Yield the files of a table's versions up to one: its log, and the data they need."""
    folder = LocalObjects(root / table)
    snapshot = delta_log.load(folder, version)
    if snapshot is None:
        missing = folder.spark_url(delta_log.commit_key(version))
        raise FileNotFoundError(2, "not there", missing)
    for name in delta_log.names_in_log(folder):
        number = name.partition(".")[0]
        if number.isdigit() and int(number) <= version and not name.endswith(".crc"):
            yield f"{table}/{delta_log.LOG}/{name.removesuffix('/')}"
    # An epoch that is kept reads versions from `oldest` on; what is older may be gone.
    before = delta_log.load(folder, oldest) if oldest <= version else None
    first = before.version + 1 if before is not None else version
    needed = {**_added(folder, range(first, version + 1)), **snapshot.files}
    needed |= before.files if before is not None else {}
    for path, file in needed.items():
        found = folder.head(path)
        if found is None or found.size != file.size:
            raise FileNotFoundError(2, "not whole", folder.spark_url(path))
        yield f"{table}/{path}"
    for path in _added(folder, range(first)):
        if path not in needed and folder.head(path) is not None:
            yield f"{table}/{path}"


def _added(table: Objects, versions: range) -> dict[str, DataFile]:
    """Return the files that some commits of a table add, by path."""
    commits = (delta_log.read_commit(table, version) or () for version in versions)
    return {file.path: file for actions in commits for file in delta_log.added_files(actions)}
