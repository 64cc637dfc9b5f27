"""Refusal to write with a log older than the tables, whose epochs would count as done.

A copy of a warehouse in use, a partial restore or a removed `_floodmark` lead to this. Reading is
safe, because readers use the versions that the log names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from floodmark.storage.logs.epochs import EpochLog, LogHead
from floodmark.storage.logs.object_record import versions_of
from floodmark.storage.records.text import unless_newer
from floodmark.storage.table import OtherHistory, Store
from floodmark.storage.warehouse import CORRECTIONS, ROWS

RecordId = Callable[[int], str | None]
"""Returns the id of the record that opened an epoch."""
_NAMED = 3
"""How many tables an error names."""
_BACK = 64
"""How many commits are looked at for one of an epoch, of a table that no seal names."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a table's commit says: the epoch, and the id of the record that ordered it, if any."""

    table: str
    epoch: int
    record: str | None

    def is_known(self, head: LogHead) -> bool:
        """Tell whether a log has the epoch, and the same one if it is open."""
        if head.open is None or self.epoch < head.open.epoch:
            return self.epoch <= head.sealed
        return self.epoch == head.open.epoch and self.record in (None, head.open.id)


def refuse_tables_ahead(log: EpochLog, store: Store) -> None:
    """Raise `OtherHistory` E0433 where a table has an epoch that the log does not have.

    Of a table that the last seal names, this asks for one file; it needs no lease. A table whose
    log cannot be read is passed over: its object is suspended when an epoch reads it. E0430 where a
    newer version of the engine wrote it.
    """
    sealed = log.head().sealed
    pinned = versions_of(log.seal_record(sealed).objects.values() if sealed else ())
    claims = list(_claims(store, pinned))
    # The log is read after the tables: what others have begun meanwhile is in it.
    head = log.head()
    ahead = [claim for claim in claims if not claim.is_known(head)]
    if ahead:
        _refuse(ahead, head)


def epochs_of_other_logs(log: EpochLog, store: Store, table: str, id_of: RecordId) -> list[int]:
    """Return the epochs of a table that a log has by another record; reads all of its commits.

    Steps of backfills are left out: their records go when they are done.
    """
    epochs = set[int]()
    sealed = log.head().sealed
    for info in store.commits(table):
        said = _claim_parts(info)
        if said is None or said[1] is None or "step" in info["metadata"]:
            continue
        epoch, record = said
        if 0 < epoch <= sealed and record != id_of(epoch):
            epochs.add(epoch)
    return sorted(epochs)


def tables_of_epoch(store: Store, epoch: int) -> list[str]:
    """Return the tables into which an epoch has written rows; that it is the newest is known.

    Those of which the newest commits cannot be read are left out.
    """
    names = []
    for table in store.tables():
        with unless_newer():
            infos = islice(store.commits(table), _BACK)
            said = (i["metadata"] for i in infos if "attempt" in i["metadata"])
            if any(m.get("epoch") == epoch and "step" not in m for m in said):
                names.append(table)
    return names


def _claims(store: Store, pinned: Mapping[str, int]) -> Iterator[_Claim]:
    tables = set(store.tables())
    for table in tables:
        # Commits of corrections count backfills; what is published follows rows.
        if table.startswith(f"{CORRECTIONS}/") or f"{ROWS}/{table}" in tables:
            continue
        with unless_newer():
            if table in pinned:
                infos = store.history(table, pinned[table])
            else:
                infos = list(islice(store.commits(table), _BACK))
            yield from (_Claim(table, *said) for info in infos if (said := _claim_parts(info)))


def _claim_parts(info: Mapping[str, Any]) -> tuple[int, str | None] | None:
    """Return the epoch and the record of a commit of the engine, None of any other."""
    metadata = info["metadata"]
    is_own = "attempt" in metadata or "maintenance" in metadata
    epoch = metadata.get("epoch")
    return (epoch, metadata.get("record")) if is_own and isinstance(epoch, int) else None


def _refuse(ahead: list[_Claim], head: LogHead) -> None:
    newest = head.sealed if head.open is None else head.open.epoch
    tables = sorted({claim.table for claim in ahead})
    more = f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
    last = max(claim.epoch for claim in ahead)
    known = f"the log ends with epoch {newest}" if newest else "there is no log of epochs"
    raise OtherHistory(
        "E0433",
        f"the tables have an epoch {last}, and {known}"
        if last > newest
        else f"the tables have another epoch {last} than the log",
        detail=f"such as {', '.join(tables[:_NAMED])}{more}",
        hint="restore the whole warehouse from one backup, or put the newer _floodmark back; "
        "nothing has been changed, and the epochs of the log can be read",
    )
