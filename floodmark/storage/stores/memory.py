"""The storage contract with the log in memory and the Parquet on disk.

A second real implementation, with the same contract suite as `delta/store.py`. It fails on demand
at the n-th call: so the crash tests walk through every storage call of an epoch.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from floodmark.errors import TransientError
from floodmark.scalar.types import Schema
from floodmark.storage.delta.types import delta_schema, sql_schema
from floodmark.storage.files.table_files import TableFiles
from floodmark.storage.objects.contract import Location
from floodmark.storage.records.upgrades import FORMAT
from floodmark.storage.table import (
    DataFile,
    Handle,
    check_change,
    raise_conflict,
    raise_missing_version,
    raise_older,
    refuse_recorded,
    refuse_schema,
)
from floodmark.storage.warehouse import check_table


@dataclass(slots=True)
class _Log:
    """All versions of one table; a position in `handles` is a version."""

    handles: list[Handle] = field(default_factory=list)
    infos: list[Mapping[str, Any]] = field(default_factory=list)
    oldest: int = 0


class MemoryStore(TableFiles):
    """Tables whose log dies with the process; safe to share between threads."""

    def __init__(self, place: Location) -> None:
        super().__init__(place)
        self._logs: dict[str, _Log] = {}
        self._lock = threading.RLock()
        self._fault: tuple[int, str] | None = None
        self.calls = 0

    def fail_at(self, n: int, mode: Literal["transient", "persistent"] = "transient") -> None:
        """Fail the n-th call from now (1 is the next) with `TransientError` E0505.

        A persistent fault also fails all calls after it, until `heal`.
        """
        self._fault = (self.calls + n, mode)

    def heal(self) -> None:
        """Take the fault away."""
        self._fault = None

    def exists(self, table: str) -> bool:
        """Tell whether the table has been created."""
        self._count("exists")
        return check_table(table) in self._logs

    def create(
        self, table: str, schema: Schema, *, properties: Mapping[str, str] | None = None
    ) -> Handle:
        """Create an empty table; one that exists with the same schema is opened instead."""
        self._count("create")
        wanted = sql_schema(delta_schema(schema))
        with self._lock:
            self.objects_of(table).make()
            log = self._logs.setdefault(table, _Log())
            if not log.handles:
                log.handles.append(Handle(table, 0, wanted, (), {}))
                log.infos.append(_info(0, "CREATE TABLE", None, False))
            if log.handles[-1].schema != wanted:
                refuse_schema(table)
            return log.handles[-1]

    def open(self, table: str, version: int | None = None) -> Handle:
        """Open the newest or a pinned version; a missing one is a `DataError` E0402."""
        self._count("open")
        return self._handle(table, version)

    def list_stage(self, table: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Read the footers below a stage folder, by path; files without rows are left out."""
        self._count("list_stage")
        return super().list_stage(table, epoch, attempt)

    def commit(
        self,
        handle: Handle,
        *,
        adds: Sequence[DataFile] = (),
        removes: Sequence[DataFile] = (),
        app: str | None = None,
        epoch: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        data_change: bool = True,
        schema: Schema | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Handle:
        """Commit once, on exactly the handle's version; see `Store.commit`."""
        self._count("commit")
        check_change(handle, adds, removes, app, epoch)
        with self._lock:
            newest = self._handle(handle.table, None)
            if newest.version != handle.version:
                refuse_recorded(newest, app, epoch)
                raise_conflict(handle, newest.version)
            gone = {file.path for file in removes}
            kept = tuple(file for file in newest.files if file.path not in gone)
            recorded = {} if app is None or epoch is None else {app: epoch}
            after = Handle(
                handle.table,
                handle.version + 1,
                handle.schema if schema is None else sql_schema(delta_schema(schema)),
                kept + tuple(adds),
                {**newest.transactions, **recorded},
            )
            log = self._logs[handle.table]
            log.handles.append(after)
            operation = "WRITE" if data_change else "OPTIMIZE"
            changed = data_change and bool(adds or removes)
            log.infos.append(_info(after.version, operation, metadata, changed, recorded))
            return after

    def history(self, table: str, after: int) -> list[Mapping[str, Any]]:
        """Return the commit infos of the versions after `after`, oldest first."""
        self._count("history")
        if after + 1 < self._log(table).oldest:
            raise_missing_version(table, after + 1)
        return self._log(table).infos[after + 1 :]

    def commits(self, table: str) -> Iterator[Mapping[str, Any]]:
        """Yield the commit infos from the newest on back, as far as the log goes."""
        self._count("commits")
        log = self._log(table)
        yield from reversed(log.infos[log.oldest :])

    def last_commit(self, table: str) -> int:
        """Return 0: commits have no time here."""
        return 0

    def tables(self) -> Iterator[str]:
        """Yield all tables that there are."""
        self._count("tables")
        yield from list(self._logs)

    def version_at(self, table: str, app: str, epoch: int) -> int | None:
        """Return the newest version whose recorded transaction of `app` is at most `epoch`."""
        self._count("version_at")
        log = self._log(table)
        for handle in reversed(log.handles[log.oldest :]):
            recorded = handle.transaction(app)
            if recorded is not None and recorded <= epoch:
                return handle.version
        return None

    def settle(self, table: str, version: int) -> int:
        """Return the newest version with the rows and transactions of the given one."""
        self._count("settle")
        log = self._log(table)
        if version >= len(log.handles):
            raise_older(table, len(log.handles) - 1, version)
        while version + 1 < len(log.handles):
            known, following = log.handles[version], log.handles[version + 1]
            changed = log.infos[version + 1]["data_change"]
            same = known.schema == following.schema
            if changed or not same or known.transactions != following.transactions:
                break
            version += 1
        return version

    def checkpoint(self, table: str) -> None:
        """Do nothing: a log in memory needs no checkpoint."""
        self._count("checkpoint")
        self._log(table)

    def vacuum(self, table: str, *, retain_versions_from: int, written_before: datetime) -> int:
        """Delete orphans and files no version from the given one on needs; return how many.

        Every file is old enough here: nobody else can be about to commit one.
        """
        self._count("vacuum")
        with self._lock:
            self._handle(table, retain_versions_from)
            log = self._logs[table]
            log.oldest = retain_versions_from
            needed = {file.path for handle in log.handles[log.oldest :] for file in handle.files}
        unneeded = [key for key in self.objects_of(table).list() if key not in needed]
        self.objects_of(table).delete(unneeded)
        return len(unneeded)

    def drop(self, table: str) -> None:
        """Remove the table, its folder included."""
        self._count("drop")
        with self._lock:
            self._logs.pop(table, None)
        self.objects.remove(self.key(table))

    def _log(self, table: str) -> _Log:
        log = self._logs.get(table)
        if log is None:
            raise_missing_version(table, None)
        return log

    def _handle(self, table: str, version: int | None) -> Handle:
        log = self._log(table)
        if version is None:
            return log.handles[-1]
        if not log.oldest <= version < len(log.handles):
            raise_missing_version(table, version)
        return log.handles[version]

    def _count(self, call: str) -> None:
        with self._lock:
            self.calls += 1
            if self._fault is None:
                return
            at, mode = self._fault
            if self.calls == at or (mode == "persistent" and self.calls > at):
                raise TransientError(
                    "E0505",
                    f"the storage call {call} (number {self.calls}) fails on request",
                    hint="remove the fault with heal() and run again",
                )


def _info(
    version: int,
    operation: str,
    metadata: Mapping[str, Any] | None,
    data_change: bool,
    transactions: Mapping[str, int] | None = None,
) -> Mapping[str, Any]:
    return {
        "version": version,
        "operation": operation,
        "metadata": dict(metadata or {}),
        "format": FORMAT,
        "data_change": data_change,
        "engine": "memory",
        "transactions": transactions or {},
    }
