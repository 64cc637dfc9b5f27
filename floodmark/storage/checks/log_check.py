"""Check of every record of every log of a warehouse; faults are returned, not raised.

Only the newest records are looked at when epochs run. This reads them all, and changes nothing.

The newest ones suffice to know that a newer version has written: an epoch is opened, and a step of
a backfill begun, once the record before it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from floodmark.errors import FloodmarkError
from floodmark.storage.durability import objects_of
from floodmark.storage.local_files import disk_errors
from floodmark.storage.logs.backfills import check_backfills
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.storage.logs.epoch_listing import BUCKET, buckets, list_bucket
from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.logs.record_kinds import kind_of
from floodmark.storage.logs.seed import NAME as SEED, find_seed
from floodmark.storage.objects.contract import Location, Objects
from floodmark.storage.records.text import NEWER, read_record
from floodmark.storage.warehouse import BACKFILLS, ENGINE

_UNDONE_RECORD = ".undone-000000.json"
_LOGS = ("epochs", "catalog", BACKFILLS)
_LAST = 3
"""How many records of a backfill are looked at: a step, what came of it, and that it is ready."""


@dataclass(frozen=True, slots=True)
class LogCheck:
    """A record or a log, by its path below the engine's folder, and what is wrong with it."""

    name: str
    error: FloodmarkError | None = None


def check_logs(place: Location) -> Iterator[LogCheck]:
    """Yield every record once it is read, then every log once it is known to have no gaps.

    Whoever holds no lease may see an error of what is written just then.
    """
    engine = objects_of(place).sub_objects(ENGINE)
    newest = epoch = 0
    yield from check_single_records(place)
    for name in (name for log in _LOGS for name in _records(engine, log)):
        read = list[Any]()
        if (kind := kind_of(name)) is None:
            continue  # somebody else's
        yield _check(name, partial(_read_into, engine, name, kind, read))
        if name.endswith((".open.json", _UNDONE_RECORD)) and read and read[0] is not None:
            goes_by = (read[0].body.catalog_version, _epoch_of(name))
            newest, epoch = max((newest, epoch), goes_by)
    yield from _epochs(place)
    yield _check("catalog", partial(CatalogLog(place).check_has, newest, epoch))
    yield _check(BACKFILLS, partial(check_backfills, place))


def check_single_records(place: Location) -> Iterator[LogCheck]:
    """Yield the records that are no part of a log, and the seed, once each is read."""
    engine = objects_of(place).sub_objects(ENGINE)
    for name in (key.removesuffix("/") for key in _names(engine, "")):
        if name.endswith(".json") and (kind := kind_of(name)) is not None:
            yield _check(name, partial(read_record, engine, name, kind))
    yield _check(SEED, partial(find_seed, place))


def refuse_newer_records(place: Location) -> None:
    """Raise E0430 where a newer version wrote what a writer may come to read; look at no more.

    What is damaged is for whoever needs it.
    """
    engine = objects_of(place).sub_objects(ENGINE)
    newest = (
        _check(name, partial(read_record, engine, name, kind))
        for name in _newest_records(engine)
        if (kind := kind_of(name)) is not None
    )
    for check in (*check_single_records(place), *newest):
        if check.error is not None and check.error.code == NEWER:
            raise check.error


def _newest_records(engine: Objects) -> Iterator[str]:
    """Yield the newest records of each log, and those of an epoch that is not sealed."""
    yield from sorted(_names(engine, "catalog/"))[-1:]
    for folder in _names(engine, f"{BACKFILLS}/"):
        yield from sorted(_names(engine, folder))[-_LAST:]
    folders = (key[:-1].rpartition("/")[2] for key in _names(engine, "epochs/"))
    for bucket in sorted(int(name) for name in folders if name.isdecimal())[-2:]:
        keys = {key: _epoch_of(key) for key in _names(engine, f"epochs/{bucket}/")}
        sealed = max((e for key, e in keys.items() if key.endswith(".seal.json")), default=0)
        yield from (key for key, epoch in keys.items() if epoch >= sealed or not epoch)


def _epoch_of(key: str) -> int:
    """Return the epoch that a record is of; 0 for one that is of none."""
    number = key.rpartition("/")[2].partition(".")[0]
    return int(number) if number.isdecimal() else 0


def _read_into(engine: Objects, name: str, kind: Any, into: list[Any]) -> None:
    into.append(read_record(engine, name, kind))


def _records(engine: Objects, folder: str) -> Iterator[str]:
    """Yield the keys below a folder that are named like records, even if they are folders."""
    for key in _names(engine, f"{folder}/"):
        name = key.removesuffix("/")
        if name.endswith(".json") and not name.rpartition("/")[2].startswith("."):
            yield name
        if key.endswith("/"):
            yield from _records(engine, name)


def _names(engine: Objects, folder: str) -> list[str]:
    """Return what lies in a folder; nothing of what the log itself is told for."""
    try:
        return list(engine.list(folder, deep=False))
    except OSError:
        return []


def _epochs(place: Location) -> Iterator[LogCheck]:
    files = RecordFiles(place, "epochs", "the epoch log")
    yield _check("epochs", partial(buckets, files))
    there = sorted(int(name) for name in files.names() if name.isdigit())
    used = [bucket for bucket in there if any(n[0] != "." for n in files.names(str(bucket)))]
    for bucket in used:
        full = bucket < used[-1]
        name = f"epochs/{bucket * BUCKET} to {(bucket + 1) * BUCKET - 1}"
        yield _check(name, partial(list_bucket, files, bucket, full=full))


def _check(name: str, look: Callable[[], Any]) -> LogCheck:
    try:
        with disk_errors(name):
            look()
    except FloodmarkError as error:
        return LogCheck(name, error)
    return LogCheck(name)
