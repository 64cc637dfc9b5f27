"""Warehouses whose rows others read by the engine's own log: that of the rows becomes one apart.

Files and commits are linked, not moved: whoever reads the table where it was reads it as before.
All tables appear in their new place at once. Whatever ends this before leaves nothing that counts.
"""

from __future__ import annotations

import uuid
from itertools import takewhile
from pathlib import Path

from floodmark import failpoints
from floodmark.storage.delta import log as delta_log
from floodmark.storage.durability import renew_record
from floodmark.storage.local_files import disk_errors, flush
from floodmark.storage.objects.contract import Objects, folders_in
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.table import Store
from floodmark.storage.warehouse import ASIDE, ROWS

_OURS = "floodmark/"
_UNPUBLISHED = ".unpublished"
"""Marks rows of which others still read the engine's former log."""


def separate_rows(objects: Objects, store: Store) -> None:
    """Give the rows of a former warehouse a log apart; its writer holds the lease.

    Former versions refuse the warehouse from then on.
    """
    if ROWS in folders_in(objects) or not isinstance(objects, LocalObjects):
        return
    tables = [t for t in store.tables() if t[0] != "_" and _is_ours(store, t)]
    if not tables:
        return
    with disk_errors("the rows of the warehouse"):
        renew_record(objects)
        failpoints.reach("record_renewed")
        objects.remove(ASIDE)  # what an attempt before has linked
        partial = f"{ASIDE}/{uuid.uuid4().hex}"
        for table in tables:
            _link(objects, store, table, f"{partial}/{table}")
            failpoints.reach("rows_linked")
        place = Path(objects.place)
        objects.create(f"{partial}/{_UNPUBLISHED}", b"")
        (place / partial).replace(place / ROWS)
        objects.remove(ASIDE)
        if objects.durable:
            flush(place)
    failpoints.reach("rows_separated")


def are_unpublished(objects: Objects) -> bool:
    """Tell whether the rows were separated, and no epoch has published all of them since."""
    return objects.head(f"{ROWS}/{_UNPUBLISHED}") is not None


def note_published(objects: Objects) -> None:
    """Take note that an epoch has published all rows."""
    objects.delete([f"{ROWS}/{_UNPUBLISHED}"])


def _is_ours(store: Store, table: str) -> bool:
    return any(str(info["engine"]).startswith(_OURS) for info in store.commits(table))


def _link(objects: LocalObjects, store: Store, table: str, target: str) -> None:
    """Link what a table has up to its last commit of the engine."""
    foreign = takewhile(
        lambda info: not str(info["engine"]).startswith(_OURS), store.commits(table)
    )
    last = store.open(table).version - sum(1 for _ in foreign)
    log = f"{table}/{delta_log.LOG}/"
    copied = []
    for key in objects.list(f"{table}/"):
        if key.startswith(log) and _number(key.removeprefix(log)) > last:
            continue
        if key == f"{log}{delta_log.LAST_CHECKPOINT}":
            continue
        copied.append(f"{target}/{key.removeprefix(f'{table}/')}")
        objects.copy(key, copied[-1])
    newest = delta_log.last_checkpoint(objects.sub_objects(target))
    if newest is not None:
        objects.create(f"{target}/{delta_log.LOG}/{delta_log.LAST_CHECKPOINT}", newest.encode())
    objects.flush(copied)


def _number(name: str) -> int:
    number = name.partition(".")[0]
    return int(number) if number.isdigit() else -1
