"""Looks at every record of every log of a warehouse; what is wrong is told, not raised.

Only the newest records are looked at when epochs run. This reads them all, and changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from floodmark.errors import FloodmarkError
from floodmark.storage.backfill_log import check_backfills
from floodmark.storage.catalog_log import CatalogLog
from floodmark.storage.epoch_listing import BUCKET, buckets, listed
from floodmark.storage.local_files import disk_errors
from floodmark.storage.record_files import RecordFiles
from floodmark.storage.record_kinds import kind_of
from floodmark.storage.records import read_record
from floodmark.storage.seed import NAME as SEED
from floodmark.storage.seed import drawn_seed
from floodmark.storage.warehouse import BACKFILLS, engine_folder

_UNDONE = ".undone-000000.json"
_LOGS = ("epochs", "catalog", BACKFILLS)


@dataclass(frozen=True, slots=True)
class Checked:
    """A record or a log, by its path below the engine's folder, and what is wrong with it."""

    name: str
    error: FloodmarkError | None = None


def checked_logs(root: str | Path) -> Iterator[Checked]:
    """Yield every record once it is read, then every log once it is known to have no gaps.

    Whoever holds no lease may see an error of what is written just then.
    """
    engine = engine_folder(root)
    newest = epoch = 0
    yield from checked_singles(root)
    for path in _records(engine):
        name, found = path.relative_to(engine).as_posix(), list[Any]()
        if (kind := kind_of(name)) is None:
            continue  # somebody else's
        yield _told(name, partial(_read, path, kind, found))
        if name.endswith((".open.json", _UNDONE)) and found and found[0] is not None:
            said = found[0].body.catalog_version, int(path.name.partition(".")[0])
            newest, epoch = max((newest, epoch), said)
    yield from _epochs(root)
    yield _told("catalog", partial(CatalogLog(root).check_has, newest, epoch))
    yield _told(BACKFILLS, partial(check_backfills, root))


def checked_singles(root: str | Path) -> Iterator[Checked]:
    """Yield the records that are no part of a log, and the seed, once each is read."""
    for path in sorted(engine_folder(root).glob("[!.]*.json")):
        if (kind := kind_of(path.name)) is not None:
            yield _told(path.name, partial(read_record, path, kind))
    yield _told(SEED, partial(drawn_seed, root))


def _read(path: Path, kind: Any, into: list[Any]) -> None:
    into.append(read_record(path, kind))


def _records(engine: Path) -> Iterator[Path]:
    """Yield what has the name of a record in a log, whatever it is; that of a folder by name."""
    for log in _LOGS:
        for base, folders, names in os.walk(engine / log):
            folders.sort()
            found = sorted(n for n in (*names, *folders) if n[0] != "." and n.endswith(".json"))
            yield from (Path(base, name) for name in found)


def _epochs(root: str | Path) -> Iterator[Checked]:
    files = RecordFiles(root, "epochs", "the epoch log")
    yield _told("epochs", partial(buckets, files))
    there = sorted(int(name) for name in files.names() if name.isdigit())
    used = [bucket for bucket in there if any(n[0] != "." for n in files.names(str(bucket)))]
    for bucket in used:
        full = bucket < used[-1]
        name = f"epochs/{bucket * BUCKET} to {(bucket + 1) * BUCKET - 1}"
        yield _told(name, partial(listed, files, bucket, full=full))


def _told(name: str, look: Callable[[], Any]) -> Checked:
    try:
        with disk_errors(name):
            look()
    except FloodmarkError as error:
        return Checked(name, error)
    return Checked(name)
