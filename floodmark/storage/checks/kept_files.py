"""Checks of the files that kept epochs need: missing, or with other bytes or rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from floodmark.errors import FloodmarkError
from floodmark.storage.delta import log as delta_log
from floodmark.storage.local_files import disk_errors
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.logs.object_record import versions_of
from floodmark.storage.logs.retention import Retention
from floodmark.storage.objects.contract import Location, Objects
from floodmark.storage.plain_files import parquet_footer
from floodmark.storage.table import DataFile, Store


def files_of_versions(
    store: Store, objects: Objects, table: str, first: int, last: int
) -> tuple[list[DataFile], list[FloodmarkError]]:
    """Return the files that a table's versions from `first` to `last` need, each once.

    With them, why commits cannot be read. The files of those that can are there all the same, but
    for what a damaged one before `first` may have removed.
    """
    files, errors, at = dict[str, DataFile](), list[FloodmarkError](), first
    try:
        files = {file.path: file for file in store.open(table, first).files}
    except FloodmarkError as error:
        errors.append(error)
        at = min(delta_log.commit_versions(objects), default=last + 1) - 1
    for version in range(at + 1, last + 1):
        try:
            with disk_errors(table):
                actions = delta_log.read_commit(objects, version) or ()
                added, gone = delta_log.files_to_add(actions), delta_log.paths_to_remove(actions)
        except FloodmarkError as error:
            errors.append(error)
            if version <= first:
                files.clear()  # which of them it removed is not known
            continue
        for path in gone if version <= first else ():
            files.pop(path, None)
        files.update((file.path, file) for file in added)
    return list(files.values()), errors


def first_versions(place: Location, log: EpochLog, epoch: int) -> dict[str, int]:
    """Return the versions that the oldest kept epoch pins, by table."""
    oldest = min(Retention(place).kept_epochs().oldest, epoch)
    return versions_of(log.seal_record(oldest).objects.values())


def rows_of_statements(place: Location, log: EpochLog) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of statements' rows that kept epochs have, or one that is to begin."""
    last, version = 0, 0
    for last in log.epochs(after=Retention(place).kept_epochs().oldest - 1):
        opened = log.open_record(last)
        version = opened.catalog_version
        yield from opened.dml
    latest = CatalogLog(place).latest()
    if latest is not None and latest.version > version:
        yield from latest.dml


def faults_of_rows(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the files of a statement's rows."""
    rows = 0
    for path in entry["paths"]:
        _, folder, name = path.rsplit("/", 2)
        try:
            rows += parquet_footer(path).num_rows
        except FileNotFoundError:
            yield f"{name} of {folder}, with rows of a statement, is missing"
            return
        except OSError as error:
            yield f"{name} of {folder} is no Parquet file any more: {_line(error)}"
            return
    if rows != entry["rows"]:
        yield f"a statement wrote {entry['rows']} rows, and its files have {rows}"


def faults_of_files(table: Objects, files: Iterable[DataFile]) -> Iterator[str]:
    """Yield what is wrong with the data files of a table."""
    for file in files:
        try:
            fault = _fault_of(table, file)
        except OSError as error:
            fault = f"is no Parquet file any more: {_line(error)}"
        if fault is not None:
            yield f"{file.path} {fault}"


def _fault_of(table: Objects, file: DataFile) -> str | None:
    """Return what is wrong with a data file; raises what keeps it from being read."""
    head = table.head(file.path)
    if head is None:
        return f"is missing, with {file.rows} rows"
    if head.size != file.size:
        return f"has {head.size} bytes; the log says {file.size}"
    rows = parquet_footer(table.spark_url(file.path)).num_rows
    return None if rows == file.rows else f"has {rows} rows; the log says {file.rows}"


def _line(error: OSError) -> str:
    return (error.strerror or str(error)).partition("\n")[0]
