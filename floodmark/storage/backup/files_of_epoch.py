"""The files of a warehouse as of a sealed epoch: records, rows of statements, tables.

Files that are being written are not among them: Spark's files of a running statement, later
records, and versions of tables that the epoch does not pin.
"""

from __future__ import annotations

from collections.abc import Iterator

from floodmark.errors import DataError
from floodmark.storage.delta import log as delta_log
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.logs import correction_versions
from floodmark.storage.logs.epochs import BUCKET, EpochLog
from floodmark.storage.logs.object_record import versions_of
from floodmark.storage.logs.retention import Retention
from floodmark.storage.logs.seed import NAME as SEED
from floodmark.storage.objects.contract import Objects, folders_in
from floodmark.storage.table import SHOWN, DataFile
from floodmark.storage.warehouse import (
    BACKFILLS,
    CORRECTIONS,
    ENGINE,
    GONE,
    REPLAYS,
    ROWS,
    STATEMENTS,
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
        correction_versions.NAME,
    }
)
"""What of the engine's folder is of one process, of a moment after the epoch, or of a statement."""


def files_of(objects: Objects, epoch: int) -> Iterator[str]:
    """Yield the keys of a warehouse's files as of a sealed epoch.

    Raises `FileNotFoundError` where a log that tells them is not there (any more), and for a file
    that is not whole.
    """
    kept = min(Retention(objects).kept_epochs().oldest, epoch)
    log = EpochLog(objects)
    yield from _engine_files(objects, ENGINE, epoch, log.open_record(epoch).catalog_version)
    yield from files_of_statements(log, kept, epoch)
    oldest = versions_of(log.seal_record(kept).objects.values())
    for table, version in versions_of(log.seal_record(epoch).objects.values()).items():
        yield from _table_files(objects, table, oldest.get(table, 0), version)
        if table.startswith(f"{ROWS}/"):
            yield from _published_files(objects, table, oldest.get(table, 0), version)
    for table in folders_in(objects, CORRECTIONS, 2):
        snapshot = delta_log.load(objects.sub_objects(table))
        if snapshot is not None:
            yield from _table_files(objects, table, 0, snapshot.version)


def files_of_statements(log: EpochLog, first: int, last: int) -> Iterator[str]:
    """Yield the files of rows that statements gave to the epochs from `first` to `last`.

    The first rows of a table are among them: the epoch that a catalog version begins with has them.
    """
    start = f"{log.objects.place}/"
    for epoch in range(first, last + 1):
        for entry in log.open_record(epoch).dml:
            yield from (path.removeprefix(start) for path in entry["paths"])


def _engine_files(objects: Objects, folder: str, epoch: int, version: int) -> Iterator[str]:
    """Yield the files below the engine's folder up to an epoch and a catalog version.

    A folder in the place of one is among them: it is no file that may be left out.
    """
    for key in objects.list(f"{folder}/", deep=False):
        file = key.removesuffix("/")
        name = file.rpartition("/")[2]
        if folder == ENGINE and name in _OTHERS:
            continue
        is_one = key == file or name == SEED or name.endswith(".json")
        if is_one and not name.startswith(".") and _is_up_to(folder, name, epoch, version):
            yield file
        if key != file:
            yield from _engine_files(objects, file, epoch, version)


def _is_up_to(folder: str, name: str, epoch: int, version: int) -> bool:
    """Tell whether a file of the engine's folder is of an epoch and catalog version, or before."""
    number = name.partition(".")[0]
    above, _, bucket = folder.rpartition("/")
    if above == f"{ENGINE}/epochs":
        if number.isdigit():
            return int(number) <= epoch
        return (int(bucket) + 1) * BUCKET - 1 <= epoch
    if folder == f"{ENGINE}/catalog" and number.isdigit():
        return int(number) <= version
    return True


def _table_files(objects: Objects, table: str, oldest: int, version: int) -> Iterator[str]:
    """Yield the files of a table's versions up to one: its log, and the data they need."""
    folder = objects.sub_objects(table)
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
    needed = {**_files_by_path(folder, range(first, version + 1)), **snapshot.files}
    needed |= before.files if before is not None else {}
    for path, file in needed.items():
        head = folder.head(path)
        if head is None or head.size != file.size:
            raise FileNotFoundError(2, "not whole", folder.spark_url(path))
        yield f"{table}/{path}"
    for path in _files_by_path(folder, range(first)):
        if path not in needed and folder.head(path) is not None:
            yield f"{table}/{path}"


def _published_files(objects: Objects, rows: str, oldest: int, version: int) -> list[str]:
    """Return the files of the published table that shows versions of rows; none where it is not
    whole: the next epoch publishes it anew.
    """
    table, store = rows.removeprefix(f"{ROWS}/"), DeltaStore(objects, durable=False)
    try:
        shown = store.version_at(table, SHOWN, version)
        first = store.version_at(table, SHOWN, oldest)
        if shown is None:
            return []
        return list(_table_files(objects, table, shown if first is None else first, shown))
    except (DataError, FileNotFoundError):
        return []


def _files_by_path(table: Objects, versions: range) -> dict[str, DataFile]:
    """Return the files that some commits of a table add, by path."""
    commits = (delta_log.read_commit(table, version) or () for version in versions)
    return {file.path: file for actions in commits for file in delta_log.files_to_add(actions)}
