"""Whether the tables of a warehouse are as its log says: commits, file lists, footers, row counts.

`check_heads` looks at the newest commits alone and takes seconds. `verify_tables` reads the log and
the footers of every file that a kept epoch needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from floodmark.errors import DataError, FloodmarkError
from floodmark.limits import LIMITS, Limits
from floodmark.storage.checks.kept_files import (
    faults_of_files,
    faults_of_rows,
    files_of_versions,
    first_versions,
    rows_of_statements,
)
from floodmark.storage.checks.log_check import check_logs
from floodmark.storage.checks.older_log import RecordId, epochs_of_other_logs, refuse_tables_ahead
from floodmark.storage.delta import log as delta_log
from floodmark.storage.durability import objects_of
from floodmark.storage.logs.backfills import versions_of_backfills
from floodmark.storage.logs.correction_versions import CorrectedTables
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.objects.contract import Location, Objects, folders_in
from floodmark.storage.progress import ReportProgress
from floodmark.storage.table import Store
from floodmark.storage.warehouse import CORRECTIONS, ENGINE, ROWS

RESTORE = "restore a backup with `floodmark restore`, or rebuild what reads from sources"
PUBLISH_AGAIN = (
    "remove its folder: the next change of its rows, or maintenance, publishes all of them again"
)


@dataclass(frozen=True, slots=True)
class TableFinding:
    """Something that is wrong: with which table of which object, and what to do about it.

    `object` is a key, `table` the path of a table below the root; None where it is a log. `detail`
    is what an error says below its first line.
    """

    message: str
    remedy: str
    object: str | None = None
    table: str | None = None
    code: str | None = None
    detail: str | None = None


def is_there(place: Location, store: Store) -> bool:
    """Tell whether a folder holds a warehouse, or what is left of one whose logs are gone."""
    return ENGINE in folders_in(objects_of(place)) or any(store.tables())


def check_is_there(place: Location, store: Store) -> None:
    """Raise E0464 for a folder without a warehouse: nothing in it can be right or wrong."""
    if not is_there(place, store):
        raise DataError(
            "E0464",
            f"there is no warehouse in {objects_of(place).place}",
            hint="name the folder with --warehouse; the first `floodmark run` makes one",
        )


def check_heads(log: EpochLog, store: Store) -> Iterator[TableFinding]:
    """Yield what is wrong with the newest versions of the tables that the log knows.

    The last seal pins some; steps of backfills and selections have written others since.
    """
    try:
        known = {table: (key, version) for key, table, version in _tables_of_seal(log)}
    except FloodmarkError as error:
        yield _as_finding(error)
        return
    try:
        known |= {table: (key, version) for key, table, version in _tables_after_seal(log)}
        known |= _correction_tables(log.objects, known)
        refuse_tables_ahead(log, store)
    except FloodmarkError as error:
        yield _as_finding(error)
    for table, (object_, version) in known.items():
        try:
            handle = store.open(table)
        except FloodmarkError as error:
            yield _as_finding(error, object_, table)
            continue
        if handle.version < version:
            yield TableFinding(
                f"{table} ends at version {handle.version}; the log knows its version {version}",
                RESTORE, object_, table,
            )  # fmt: skip


def verify_logs(
    place: Location, progress: ReportProgress | None = None, limits: Limits = LIMITS
) -> Iterator[TableFinding]:
    """Yield what is wrong with the records of all logs, and which are missing."""
    for number, looked in enumerate(check_logs(place), 1):
        if progress is not None and number % limits.progress_records == 0:
            progress(looked.name, number, number)
        if looked.error is not None:
            yield _as_finding(looked.error)


def verify_tables(
    log: EpochLog,
    store: Store,
    objects: Collection[str] | None = None,
    progress: ReportProgress | None = None,
) -> Iterator[TableFinding]:
    """Yield what is wrong with the tables of kept epochs, of all objects or of those named.

    Those are the tables that the last seal pins, in all versions that are kept, corrections, and
    the rows of statements.
    """
    seen = set[tuple[str | None, str]]()
    for finding in _find_damage(log, store, objects, progress):
        if (finding.table, finding.message) not in seen:
            seen.add((finding.table, finding.message))
            yield finding


def _find_damage(
    log: EpochLog,
    store: Store,
    objects: Collection[str] | None,
    progress: ReportProgress | None,
) -> Iterator[TableFinding]:
    heads = list(check_heads(log, store))
    yield from (f for f in heads if objects is None or f.object in {None, *objects})
    try:
        pinned = [p for p in _tables_of_seal(log) if objects is None or p[0] in objects]
        oldest = first_versions(log.objects, log, log.head().sealed) if pinned else {}
    except FloodmarkError as error:
        yield _as_finding(error)
        return
    id_of = cache(lambda epoch: log.open_record(epoch).id)
    for number, (object_, table, version) in enumerate(pinned, 1):
        if progress is not None:
            progress(table, number, len(pinned))
        yield from _of_commits(log, store, object_, table, version, id_of)
        first = min(oldest.get(table, 0), version)
        yield from _of_files(log, store, object_, table, first, version)
        above, _, rows = table.partition("/")
        if above == ROWS:
            yield from _of_publication(log, store, object_, rows)
        corrected = f"{CORRECTIONS}/{rows}"
        if above == ROWS and delta_log.commit_versions(log.objects.sub_objects(corrected)):
            newest = max(delta_log.commit_versions(log.objects.sub_objects(corrected)))
            yield from _of_files(log, store, object_, corrected, newest, newest)
    try:
        for entry in rows_of_statements(log.objects, log):
            if objects is None or entry["table"] in objects:
                for fault in faults_of_rows(entry):
                    yield TableFinding(f"{entry['table']}: {fault}", RESTORE, entry["table"])
    except FloodmarkError as error:
        yield _as_finding(error)


def _of_commits(
    log: EpochLog, store: Store, object_: str, table: str, version: int, id_of: RecordId
) -> Iterator[TableFinding]:
    """Yield the faults of the pinned version, and of the epochs that commits name."""
    try:
        store.open(table, version)
        others = epochs_of_other_logs(log, store, table, id_of)
    except FloodmarkError as error:
        yield _as_finding(error, object_, table)
        return
    if others:
        yield TableFinding(
            f"{table} has epoch {others[-1]} by another record than the log",
            "the log and the tables are of different times: restore both from one backup",
            object_, table, "E0433",
        )  # fmt: skip


def _of_publication(
    log: EpochLog, store: Store, object_: str, table: str
) -> Iterator[TableFinding]:
    """Yield what is wrong with the newest version of a published table."""
    try:
        shown = store.open(table) if store.exists(table) else None
    except FloodmarkError as error:
        yield replace(_as_finding(error, object_, table), remedy=PUBLISH_AGAIN)
        return
    if shown is None:
        yield TableFinding(f"{table} is missing", PUBLISH_AGAIN, object_, table)
        return
    for message in faults_of_files(log.objects.sub_objects(table), shown.files):
        yield TableFinding(f"{table}: {message}", PUBLISH_AGAIN, object_, table)


def _of_files(
    log: EpochLog, store: Store, object_: str, table: str, first: int, last: int
) -> Iterator[TableFinding]:
    """Yield what is wrong with the commits and files that some versions of a table need."""
    objects = log.objects.sub_objects(table)
    files, errors = files_of_versions(store, objects, table, first, last)
    yield from (_as_finding(error, object_, table) for error in errors)
    for message in [*_gaps(objects, last), *faults_of_files(objects, files)]:
        yield TableFinding(f"{table}: {message}", RESTORE, object_, table)


def _tables_of_seal(log: EpochLog) -> list[tuple[str, str, int]]:
    """Return the tables of the last sealed epoch, each with its object and version."""
    sealed = log.head().sealed
    records = log.seal_record(sealed).objects if sealed else {}
    return [(key, t, v) for key, record in records.items() for t, v in record.versions.items()]


def _tables_after_seal(log: EpochLog) -> Iterator[tuple[str, str, int]]:
    """Yield what tables have got that no seal pins yet: each with its object and version."""
    head = log.head()
    advanced = {} if head.open is None else log.partial_records(head.open.epoch)
    for key, record in advanced.items():
        yield from ((key, table, version) for table, version in record.versions.items())
    yield from versions_of_backfills(log.objects)


def _correction_tables(
    place: Location, known: Mapping[str, tuple[str, int]]
) -> dict[str, tuple[str, int]]:
    """Return the tables of corrections, each with its object and version."""
    tables = CorrectedTables(place).versions()
    views = {table: known.get(table.replace(CORRECTIONS, ROWS, 1)) for table in tables}
    return {t: (found[0], tables[t]) for t, found in views.items() if found is not None}


def _gaps(table: Objects, version: int) -> Iterator[str]:
    """Yield the commits that are missing between the oldest that is kept and a version."""
    there = delta_log.commit_versions(table)
    start = min(there, default=version)
    missing = sorted(set(range(start, version + 1)) - there)
    if missing:
        shown = ", ".join(map(str, missing[:5]))
        yield f"the commits of versions {shown} are missing"


def _as_finding(
    error: FloodmarkError, object_: str | None = None, table: str | None = None
) -> TableFinding:
    where = "" if table is None else f"{table}: "
    return TableFinding(
        f"{where}{error.message}", error.hint or RESTORE, object_, table, error.code, error.detail
    )
