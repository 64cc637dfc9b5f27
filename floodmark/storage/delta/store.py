"""Tables as ordinary Delta tables in a store of objects.

Spark writes Parquet, this module commits it: one file in the log per commit, created
where there is none of the version. delta-rs creates tables and writes checkpoints.
Why the commit is not delta-rs': docs/adr/0002.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from deltalake.exceptions import DeltaError

from floodmark.errors import DataError, TransientError
from floodmark.limits import LIMITS, Limits
from floodmark.scalar.types import Schema
from floodmark.storage.delta import (
    columns as delta_columns,
    commit as delta_commit,
    delta_rs,
    log as delta_log,
)
from floodmark.storage.delta.clean import delete_unneeded
from floodmark.storage.delta.log import Snapshot
from floodmark.storage.delta.types import delta_schema, sql_schema
from floodmark.storage.files.table_files import TableFiles
from floodmark.storage.local_files import disk_errors, reading_log
from floodmark.storage.objects.contract import Location, Objects, create_once, folders_in
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
from floodmark.storage.warehouse import ASIDE, ENGINE, ROWS, STATE


class DeltaStore(TableFiles):
    """The Delta tables of one warehouse; safe to share between threads.

    Commits are on the disk, and their files before, where the warehouse is durable: that is known
    from its record, or said here.
    """

    def __init__(
        self, place: Location, *, durable: bool | None = None, limits: Limits = LIMITS
    ) -> None:
        super().__init__(place, durable)
        self._limits = limits
        self._recent: dict[str, dict[int, Snapshot]] = {}
        self._lock = threading.Lock()
        self._rows_apart = False

    def key(self, table: str, *names: str) -> str:
        """Return the key of what lies in the folder of a table.

        In a former warehouse the log of rows is that which others read, until they are apart.
        """
        former = table.removeprefix(f"{ROWS}/")
        if former != table and not self._rows_apart:
            self._rows_apart = ROWS in folders_in(self.objects)
            if not self._rows_apart and delta_log.is_begun(self.objects.sub_objects(former)):
                return super().key(former, *names)
        return super().key(table, *names)

    @reading_log
    def exists(self, table: str) -> bool:
        """Tell whether the table has been created."""
        return delta_log.is_begun(self.objects_of(table))

    @reading_log
    def create(
        self, table: str, schema: Schema, *, properties: Mapping[str, str] | None = None
    ) -> Handle:
        """Create an empty table; one that exists with the same schema is opened instead.

        Raises `DataError` E0403 for column names Delta cannot hold, E0404 for another schema.
        """
        wanted = delta_schema(schema)
        # Whoever creates rows holds the lease: those of a former warehouse are apart already.
        self._rows_apart |= table.startswith(f"{ROWS}/")
        if delta_log.load(self.objects_of(table)) is None:
            with disk_errors(table):
                self.objects_of(table).make()
                self._create(table, json.dumps(wanted), properties)
                self.objects.flush([self.key(table, delta_log.commit_key(0))])
        handle = self.open(table)
        if handle.schema != sql_schema(wanted):
            refuse_schema(table)
        return handle

    def _create(self, table: str, schema: str, properties: Mapping[str, str] | None) -> None:
        try:
            delta_rs.create_table(self.objects_of(table), schema, properties or {})
        except DeltaError as error:
            # Another process that created it first is as good.
            if delta_log.load(self.objects_of(table)) is None:
                name = self.objects_of(table).place.rpartition("/")[2]
                raise DataError(
                    "E0408",
                    f"the Delta table {name} cannot be created",
                    detail=str(error),
                    hint="check the columns and table properties that the message names",
                ) from error

    @reading_log
    def open(self, table: str, version: int | None = None) -> Handle:
        """Open the newest or a pinned version; a missing one is a `DataError` E0402."""
        known = self._nearest(table, version)
        if known is None:
            known = delta_log.load(self.objects_of(table), version)
        if known is None:
            raise_missing_version(table, version if self.exists(table) else None)
        handle = self._advance_snapshot(table, known, version)
        if version is not None and handle.version != version:
            raise_missing_version(table, version)
        return handle

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
        check_change(handle, adds, removes, app, epoch)
        version = handle.version + 1
        altered: Sequence[str] = ()
        if schema is not None:
            table = self.objects_of(handle.table)
            altered = delta_columns.alter_actions(table, delta_schema(schema), properties or {})
        text = delta_commit.commit_text(
            handle,
            adds,
            removes,
            None if app is None or epoch is None else (app, epoch),
            metadata,
            data_change=data_change,
            columns=altered,
        )
        if not self._put_commit(handle, version, adds, text):
            newest = self.open(handle.table)
            refuse_recorded(newest, app, epoch)
            raise_conflict(handle, newest.version)
        if schema is not None:
            return self._advance_snapshot(handle.table, handle.token, version)
        return self._remember(handle, adds, removes, app, epoch)

    def _put_commit(
        self, handle: Handle, version: int, adds: Sequence[DataFile], text: str
    ) -> bool:
        """Put a commit in place, after the files that it adds; return False where there is one."""
        table, key = self.objects_of(handle.table), delta_log.commit_key(version)
        with disk_errors(handle.table):
            table.flush([file.path for file in adds])
            # A version whose log has been cleaned up is long past: writing after it would be lost.
            present = delta_log.has_commit(table, handle.version)
            return present and create_once(table, key, text.encode())

    @reading_log
    def history(self, table: str, after: int) -> list[Mapping[str, Any]]:
        """Return the commit infos of the versions after `after`, oldest first."""
        log, version = self.objects_of(table), after + 1
        infos: list[Mapping[str, Any]] = []
        while (actions := delta_log.read_commit(log, version)) is not None:
            infos.append(delta_commit.describe_commit(version, actions))
            version += 1
        # What is cleaned up begins with the oldest: a version that is there is the newest or later.
        there = version > 0 and delta_log.has_commit(log, version - 1)
        if not there and self.open(table).version >= version:
            raise_missing_version(table, version)
        return infos

    def commits(self, table: str) -> Iterator[Mapping[str, Any]]:
        """Yield the commit infos from the newest on back, as far as the log goes."""
        version = self.open(table).version
        while version >= 0 and (info := self._info(table, version)) is not None:
            yield info
            version -= 1

    @reading_log
    def _info(self, table: str, version: int) -> Mapping[str, Any] | None:
        actions = delta_log.read_commit(self.objects_of(table), version)
        return None if actions is None else delta_commit.describe_commit(version, actions)

    def last_commit(self, table: str) -> int:
        """Return when the newest commit was written; see `Store.last_commit`."""
        heads = self.objects.heads(f"{table}/{delta_log.LOG}/")
        return max((head.modified for key, head in heads if key.endswith(".json")), default=0)

    def tables(self) -> Iterator[str]:
        """Yield all tables that there are."""
        for top in folders_in(self.objects):
            if top[0] == "." or top == ENGINE:
                continue
            depth = 3 if top == STATE else 2 if top[0] == "_" else 1
            for table in folders_in(self.objects, top, depth):
                if any(self.objects.list(f"{table}/{delta_log.LOG}", deep=False)):
                    yield table

    @reading_log
    def version_at(self, table: str, app: str, epoch: int) -> int | None:
        """Return the newest version whose recorded transaction of `app` is at most `epoch`."""
        log = self.objects_of(table)
        version = self.open(table).version
        while (actions := delta_log.read_commit(log, version)) is not None:
            recorded = delta_commit.transaction_of(actions, app)
            if recorded is not None and recorded <= epoch:
                return _last_before(log, version, app, epoch)
            version -= 1
        kept = delta_log.load(log, version) if version >= 0 else None
        recorded = kept.transactions.get(app) if kept else None
        if recorded is None or recorded > epoch:
            return None
        return _last_before(log, version, app, epoch)

    @reading_log
    def settle(self, table: str, version: int) -> int:
        """Return the newest version with the rows and transactions of the given one."""
        log = self.objects_of(table)
        if not delta_log.is_commit(log, version):
            newest = self.open(table).version  # what is cleaned up begins with the oldest
            if newest < version:
                raise_older(table, newest, version)
        with suppress(DataError):  # a damaged commit ends it: who reads the table is told
            while (actions := delta_log.read_commit(log, version + 1)) is not None:
                note = any("txn" in a or "metaData" in a for a in actions)
                if note or delta_commit.changes_data(actions):
                    break
                version += 1
        return version

    @reading_log
    def checkpoint(self, table: str) -> None:
        """Write a log checkpoint; contents do not change."""
        try:
            with disk_errors(table):
                delta_rs.open_table(self.objects_of(table)).create_checkpoint()
                delta_log.flush_checkpoint(self.objects_of(table))
        except DeltaError as error:
            raise TransientError(
                "E0508",
                f"a checkpoint of the log of {table} cannot be written",
                detail=str(error),
                hint="look at the disk; readers do without, and the next maintenance tries again",
            ) from error

    @reading_log
    def vacuum(self, table: str, *, retain_versions_from: int, written_before: datetime) -> int:
        """Delete orphans and files no version from the given one on needs; return how many."""
        kept, objects = self.open(table, retain_versions_from), self.objects_of(table)
        deleted = delete_unneeded(objects, kept.token, written_before)
        objects.prune()
        return deleted

    def drop(self, table: str) -> None:
        """Remove the table, its folder included; half of one is never a table."""
        with self._lock:
            self._recent.pop(table, None)
        self.objects.remove(self.key(table), ASIDE)

    def _nearest(self, table: str, version: int | None) -> Snapshot | None:
        """Return the newest snapshot at hand from which the version can be reached."""
        with self._lock:
            recent = list(self._recent.get(table, {}).values())
        usable = [s for s in recent if version is None or s.version <= version]
        nearest = max(usable, key=lambda snapshot: snapshot.version, default=None)
        if nearest is None or not delta_log.is_current(self.objects_of(table), nearest):
            return None
        return nearest

    def _advance_snapshot(
        self, table: str, snapshot: Snapshot, version: int | None = None
    ) -> Handle:
        return self._keep(table, delta_log.advance(self.objects_of(table), snapshot, version))

    def _keep(self, table: str, snapshot: Snapshot) -> Handle:
        with self._lock:
            recent = self._recent.setdefault(table, {})
            recent.pop(snapshot.version, None)
            recent[snapshot.version] = snapshot
            while len(recent) > self._limits.snapshots:
                del recent[next(iter(recent))]
        return _handle(table, snapshot)

    def _remember(
        self,
        handle: Handle,
        adds: Sequence[DataFile],
        removes: Sequence[DataFile],
        app: str | None,
        epoch: int | None,
    ) -> Handle:
        before: Snapshot = handle.token
        gone = {file.path for file in removes}
        files = {path: file for path, file in before.files.items() if path not in gone}
        files.update((file.path, file) for file in adds)
        transactions = dict(before.transactions)
        if app is not None and epoch is not None:
            transactions[app] = epoch
        version = handle.version + 1
        after = replace(
            before,
            version=version,
            files=files,
            transactions=transactions,
            identity=delta_log.identity_of(self.objects_of(handle.table), version),
        )
        return self._keep(handle.table, after)


def _handle(table: str, snapshot: Snapshot) -> Handle:
    return Handle(
        table=table,
        version=snapshot.version,
        schema=snapshot.schema,
        files=tuple(snapshot.files.values()),
        transactions=snapshot.transactions,
        token=snapshot,
    )


def _last_before(log: Objects, version: int, app: str, epoch: int) -> int:
    """Return the last version in a row from `version` on that records nothing later."""
    while (actions := delta_log.read_commit(log, version + 1)) is not None:
        recorded = delta_commit.transaction_of(actions, app)
        if recorded is not None and recorded > epoch:
            break
        version += 1
    return version
