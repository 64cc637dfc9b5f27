"""The store of a replay: tables as of an epoch, with commits that are discarded.

What is written lies in a folder of its own, and what is committed is known to this store alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from floodmark.scalar.types import Schema
from floodmark.storage.delta.types import delta_schema, sql_schema
from floodmark.storage.files.table_files import TableFiles
from floodmark.storage.objects.contract import Location
from floodmark.storage.table import (
    DataFile,
    Handle,
    Store,
    check_change,
    raise_conflict,
    raise_missing_version,
)


class Overlay(TableFiles):
    """A store over another one, which it never changes; to be used from one thread.

    `pinned` has the tables that may be written, at the versions from which they go on; one that is
    not in it does not exist until it is created here. Any other table is read by version.
    """

    def __init__(self, base: Store, scratch: Location, pinned: Mapping[str, int]) -> None:
        super().__init__(scratch)
        self._base = base
        self._pinned = pinned
        self._written: dict[str, list[Handle]] = {}
        self._infos: dict[str, list[Mapping[str, Any]]] = {}

    def exists(self, table: str) -> bool:
        """Tell whether the table was there, or has been created here."""
        return table in self._written or table in self._pinned

    def create(
        self, table: str, schema: Schema, *, properties: Mapping[str, str] | None = None
    ) -> Handle:
        """Create an empty table; one that exists is opened instead."""
        if self.exists(table):
            return self.open(table)
        handle = Handle(table, 0, sql_schema(delta_schema(schema)), (), {})
        self._written[table] = [handle]
        return handle

    def open(self, table: str, version: int | None = None) -> Handle:
        """Open the newest or a pinned version; a missing one is a `DataError` E0402."""
        written = self._written.get(table, [])
        if version is None:
            if written:
                return written[-1]
            if table not in self._pinned:
                raise_missing_version(table, None)
            return self._base.open(table, self._pinned[table])
        own = (handle for handle in written if handle.version == version)
        return next(own, None) or self._base.open(table, version)

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
        """Remember what would be committed; see `Store.commit`."""
        check_change(handle, adds, removes, app, epoch)
        newest = self.open(handle.table)
        if newest.version != handle.version:
            raise_conflict(handle, newest.version)
        gone = {file.path for file in removes}
        after = Handle(
            handle.table,
            handle.version + 1,
            handle.schema if schema is None else sql_schema(delta_schema(schema)),
            tuple(file for file in handle.files if file.path not in gone) + tuple(adds),
            {**handle.transactions, **({} if app is None or epoch is None else {app: epoch})},
        )
        self._written.setdefault(handle.table, []).append(after)
        self._infos.setdefault(handle.table, []).append({
            "version": after.version,
            "operation": "WRITE",
            "metadata": dict(metadata or {}),
            "data_change": data_change and bool(adds or removes),
            "engine": "overlay",
            "transactions": {} if app is None or epoch is None else {app: epoch},
        })  # fmt: skip
        return after

    def paths(self, handle: Handle, files: Sequence[DataFile] | None = None) -> list[str]:
        """Return the absolute paths of files, wherever they lie."""
        own, out = self.objects_of(handle.table), list[str]()
        for file in handle.files if files is None else files:
            here = own.head(file.path) is not None
            out += [own.spark_url(file.path)] if here else self._base.paths(handle, [file])
        return out

    def history(self, table: str, after: int) -> list[Mapping[str, Any]]:
        """Return the infos of what was committed here after a version, oldest first."""
        return [info for info in self._infos.get(table, []) if info["version"] > after]

    def commits(self, table: str) -> Iterator[Mapping[str, Any]]:
        """Yield the infos of what was committed here, from the newest on back."""
        yield from reversed(self._infos.get(table, []))

    def last_commit(self, table: str) -> int:
        """Return 0: commits have no time here."""
        return 0

    def tables(self) -> Iterator[str]:
        """Yield the tables that may be written, or were created here."""
        yield from {*self._pinned, *self._written}

    def version_at(self, table: str, app: str, epoch: int) -> int | None:
        """Return the newest version whose recorded transaction of `app` is at most `epoch`."""
        known = [*reversed(self._written.get(table, []))]
        if table in self._pinned:
            known.append(self._base.open(table, self._pinned[table]))
        recorded = ((handle.version, handle.transaction(app)) for handle in known)
        return next((v for v, done in recorded if done is not None and done <= epoch), None)

    def settle(self, table: str, version: int) -> int:
        """Return the version itself: nothing is merged here."""
        return version

    def checkpoint(self, table: str) -> None:
        """Do nothing: an overlay is not kept."""

    def vacuum(self, table: str, *, retain_versions_from: int, written_before: datetime) -> int:
        """Delete nothing: the folder goes as a whole."""
        return 0

    def drop(self, table: str) -> None:
        """Forget what was committed here; the other store's table stays."""
        self._written.pop(table, None)
        self._infos.pop(table, None)
