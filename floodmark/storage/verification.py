"""Whether the tables of a warehouse are as its log says: commits, file lists, footers, row counts.

`check_heads` looks at the newest commits alone and takes seconds. `verify_tables` reads the log and
the footers of every file that a kept epoch needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from floodmark.errors import DataError, FloodmarkError
from floodmark.storage import delta_log, statistics
from floodmark.storage.ahead import epochs_of_other_logs, refuse_tables_ahead
from floodmark.storage.backfill_log import versions_of_backfills
from floodmark.storage.epoch_log import EpochLog
from floodmark.storage.log_check import checked_logs
from floodmark.storage.progress import Progress
from floodmark.storage.table import DataFile, Store
from floodmark.storage.warehouse import engine_folder, local_root

RESTORE = "restore a backup with `floodmark restore`, or rebuild what reads from sources"

_TOLD_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: with which table of which object, and what to do about it.

    `object` is a key, `table` the path of a table below the root; None where it is a log.
    """

    message: str
    remedy: str
    object: str | None = None
    table: str | None = None
    code: str | None = None


def is_there(root: str | Path, store: Store) -> bool:
    """Tell whether a folder holds a warehouse, or what is left of one whose logs are gone."""
    return engine_folder(root).is_dir() or any(store.tables())


def check_is_there(root: str | Path, store: Store) -> None:
    """Raise E0464 for a folder without a warehouse: nothing in it can be right or wrong."""
    if not is_there(root, store):
        raise DataError(
            "E0464",
            f"there is no warehouse in {local_root(root)}",
            hint="name the folder with --warehouse; the first `floodmark run` makes one",
        )


def check_heads(log: EpochLog, store: Store) -> Iterator[Finding]:
    """Yield what is wrong with the newest versions of the tables that the log knows.

    The last seal pins some; steps of backfills and selections have written others since.
    """
    try:
        known = {table: (key, version) for key, table, version in _pinned(log)}
    except FloodmarkError as error:
        yield _of(error)
        return
    try:
        known |= {table: (key, version) for key, table, version in _unsealed(log)}
        refuse_tables_ahead(log, store)
    except FloodmarkError as error:
        yield _of(error)
    for table, (object_, version) in known.items():
        try:
            handle = store.open(table)
        except FloodmarkError as error:
            yield _of(error, object_, table)
            continue
        if handle.version < version:
            yield Finding(
                f"{table} ends at version {handle.version}; the log knows its version {version}",
                RESTORE, object_, table,
            )  # fmt: skip


def verify_logs(root: str | Path, progress: Progress | None = None) -> Iterator[Finding]:
    """Yield what is wrong with the records of all logs, and which are missing."""
    for number, looked in enumerate(checked_logs(root), 1):
        if progress is not None and number % _TOLD_EVERY == 0:
            progress(looked.name, number, number)
        if looked.error is not None:
            yield Finding(
                looked.error.message, looked.error.hint or RESTORE, code=looked.error.code
            )


def verify_tables(
    root: str | Path,
    log: EpochLog,
    store: Store,
    objects: Collection[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with the tables of a sealed epoch, of all objects or of those named."""
    heads = list(check_heads(log, store))
    yield from (f for f in heads if objects is None or f.object in {None, *objects})
    told = {f.table for f in heads}
    try:
        pinned = [
            p for p in _pinned(log) if p[1] not in told and (objects is None or p[0] in objects)
        ]
    except FloodmarkError:
        return  # it is among the findings
    for number, (object_, table, version) in enumerate(pinned, 1):
        if progress is not None:
            progress(table, number, len(pinned))
        try:
            handle = store.open(table, version)
            others = epochs_of_other_logs(log, store, table)
        except FloodmarkError as error:
            yield _of(error, object_, table)
            continue
        if others:
            yield Finding(
                f"{table} has epoch {others[-1]} by another record than the log",
                "the log and the tables are of different times: restore both from one backup",
                object_, table, "E0433",
            )  # fmt: skip
        folder = local_root(root) / table
        for message in [*_gaps(folder, version), *_file_faults(folder, handle.files)]:
            yield Finding(f"{table}: {message}", RESTORE, object_, table)


def _pinned(log: EpochLog) -> list[tuple[str, str, int]]:
    """Return the tables of the last sealed epoch, each with its object and version."""
    sealed = log.head().sealed
    records = log.sealed(sealed).objects if sealed else {}
    return [(key, t, v) for key, record in records.items() for t, v in record.versions.items()]


def _unsealed(log: EpochLog) -> Iterator[tuple[str, str, int]]:
    """Yield what tables have got that no seal pins yet: each with its object and version."""
    head = log.head()
    advanced = {} if head.open is None else log.advanced(head.open.epoch)
    for key, record in advanced.items():
        yield from ((key, table, version) for table, version in record.versions.items())
    yield from versions_of_backfills(log.root)


def _gaps(folder: Path, version: int) -> Iterator[str]:
    """Yield the commits that are missing between the oldest that is kept and a version."""
    there = delta_log.commit_versions(folder)
    start = min(there, default=version)
    missing = sorted(set(range(start, version + 1)) - there)
    if missing:
        shown = ", ".join(map(str, missing[:5]))
        yield f"the commits of versions {shown} are missing"


def _file_faults(folder: Path, files: Collection[DataFile]) -> Iterator[str]:
    for file in files:
        path = folder / file.path
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            yield f"{file.path} is missing, with {file.rows} rows"
            continue
        if size != file.size:
            yield f"{file.path} has {size} bytes; the log says {file.size}"
            continue
        try:
            rows = statistics.count_rows(path)
        except (OSError, ValueError) as error:
            yield f"{file.path} is no Parquet file any more: {str(error).splitlines()[0]}"
            continue
        if rows != file.rows:
            yield f"{file.path} has {rows} rows; the log says {file.rows}"


def _of(error: FloodmarkError, object_: str | None = None, table: str | None = None) -> Finding:
    where = "" if table is None else f"{table}: "
    return Finding(f"{where}{error.message}", error.hint or RESTORE, object_, table, error.code)
