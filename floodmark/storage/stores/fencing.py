"""A store that commits only while a condition holds, and delegates to another store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from floodmark.scalar.types import Schema
from floodmark.storage.table import DataFile, Handle, Store


@dataclass(frozen=True)
class FencedStore:
    """A store; `allowed` is entered around whatever changes a table, and may raise."""

    base: Store
    allowed: Callable[[], AbstractContextManager[None]]

    def exists(self, table: str) -> bool:
        """See `Store.exists`."""
        return self.base.exists(table)

    def create(
        self, table: str, schema: Schema, *, properties: Mapping[str, str] | None = None
    ) -> Handle:
        """See `Store.create`."""
        with self.allowed():
            return self.base.create(table, schema, properties=properties)

    def open(self, table: str, version: int | None = None) -> Handle:
        """See `Store.open`."""
        return self.base.open(table, version)

    def stage(self, table: str, epoch: int, attempt: int) -> str:
        """See `Store.stage`."""
        return self.base.stage(table, epoch, attempt)

    def list_stage(self, table: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """See `Store.list_stage`."""
        return self.base.list_stage(table, epoch, attempt)

    def adopt(self, table: str, folder: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """See `Store.adopt`."""
        return self.base.adopt(table, folder, epoch, attempt)

    def take(
        self, table: str, files: Sequence[tuple[str, int]], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """See `Store.take`."""
        return self.base.take(table, files, epoch, attempt)

    def mirror(self, table: str, handle: Handle, files: Sequence[DataFile]) -> None:
        """See `Store.mirror`."""
        self.base.mirror(table, handle, files)

    def share(
        self, table: str, paths: Sequence[str], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """See `Store.share`."""
        return self.base.share(table, paths, epoch, attempt)

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
        """See `Store.commit`."""
        with self.allowed():
            return self.base.commit(
                handle,
                adds=adds,
                removes=removes,
                app=app,
                epoch=epoch,
                metadata=metadata,
                data_change=data_change,
                schema=schema,
                properties=properties,
            )

    def paths(self, handle: Handle, files: Sequence[DataFile] | None = None) -> list[str]:
        """See `Store.paths`."""
        return self.base.paths(handle, files)

    def history(self, table: str, after: int) -> list[Mapping[str, Any]]:
        """See `Store.history`."""
        return self.base.history(table, after)

    def commits(self, table: str) -> Iterator[Mapping[str, Any]]:
        """See `Store.commits`."""
        return self.base.commits(table)

    def last_commit(self, table: str) -> int:
        """See `Store.last_commit`."""
        return self.base.last_commit(table)

    def tables(self) -> Iterator[str]:
        """See `Store.tables`."""
        return self.base.tables()

    def version_at(self, table: str, app: str, epoch: int) -> int | None:
        """See `Store.version_at`."""
        return self.base.version_at(table, app, epoch)

    def settle(self, table: str, version: int) -> int:
        """See `Store.settle`."""
        return self.base.settle(table, version)

    def checkpoint(self, table: str) -> None:
        """See `Store.checkpoint`."""
        self.base.checkpoint(table)

    def vacuum(self, table: str, *, retain_versions_from: int, written_before: datetime) -> int:
        """See `Store.vacuum`."""
        return self.base.vacuum(
            table, retain_versions_from=retain_versions_from, written_before=written_before
        )

    def drop(self, table: str) -> None:
        """See `Store.drop`."""
        with self.allowed():
            self.base.drop(table)
