"""A cut: the version of every table and the watermark of every object as of one epoch."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from floodmark.errors import FloodmarkError, TransientError
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import Store

WatermarkValues = Mapping[str, Any]
"""Watermark value by column of an object; a column without one yet is absent."""


@dataclass(frozen=True)
class Cut:
    """The newest record of every object as of one sealed epoch."""

    epoch: int = 0
    records: Mapping[str, ObjectRecord] = field(default_factory=dict)

    def rename_keys(self, keys: Mapping[str, str]) -> Cut:
        """Return the cut by other keys: the new ones of some objects by their former ones."""
        if not keys:
            return self
        new = {k: keys.get(k, k) for k in self.records}
        return Cut(self.epoch, {new[k]: replace(r, object=new[k]) for k, r in self.records.items()})

    def settle(self, store: Store) -> tuple[Cut, dict[str, FloodmarkError]]:
        """Return the cut at the versions that merging files has left since; pinned by the seal.

        With it, why tables of objects cannot be read, by object: those stay as they are.
        """
        records, damaged = dict(self.records), dict[str, FloodmarkError]()
        for key, record in self.records.items():
            try:
                versions = {t: store.settle(t, v) for t, v in record.versions.items()}
                records[key] = replace(record, versions=versions)
            except TransientError:
                raise
            except FloodmarkError as error:
                damaged[key] = error
        return Cut(self.epoch, records), damaged

    def version(self, object_: str, table: str) -> int | None:
        """Return the version of an object's table, or None where it is not there yet."""
        record = self.records.get(object_)
        return None if record is None else record.versions.get(table)

    def as_of(self, object_: str) -> datetime | None:
        """Return the time at which an object's rows with a period are seen, if it has any."""
        record = self.records.get(object_)
        return None if record is None else record.as_of

    def watermarks(self, object_: str) -> WatermarkValues:
        """Return an object's watermarks; empty before its first."""
        record = self.records.get(object_)
        return {} if record is None else record.watermarks


class EpochProgress:
    """The cut of an open epoch; threads add records as objects commit."""

    def __init__(self, before: Cut, epoch: int) -> None:
        self.before = before
        self.epoch = epoch
        self._done: dict[str, ObjectRecord] = {}
        self._lock = threading.Lock()

    def add(self, record: ObjectRecord) -> None:
        """Take in the record of an object that has committed."""
        with self._lock:
            self._done[record.object] = record

    @property
    def records(self) -> dict[str, ObjectRecord]:
        """Return the records of this epoch so far."""
        with self._lock:
            return dict(self._done)

    def as_cut(self) -> Cut:
        """Return the cut with everything added so far."""
        return Cut(self.epoch, {**self.before.records, **self.records})
