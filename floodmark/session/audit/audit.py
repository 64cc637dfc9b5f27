"""Replays of sealed epochs: each object is recomputed from the inputs that the log pins.

A replay runs the code of an epoch (`epochs.objects.epoch.advance_object`) over a store that
discards commits. Each object reads the published rows of its inputs, not their replayed rows, so
a difference is reported at the object that causes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from floodmark.cached import cached_property
from floodmark.connectors.base import Connector
from floodmark.epochs.new_version import reshape_objects
from floodmark.epochs.objects.epoch import AdvanceInput, advance_object
from floodmark.epochs.run import Run
from floodmark.epochs.start_records import epoch_start_records
from floodmark.errors import DataError, FloodmarkError, TransientError
from floodmark.scalar.types import Schema
from floodmark.session.audit.causes import likely_cause
from floodmark.session.audit.digests import RowDifference, RowPart, differences, digests
from floodmark.session.ddl.renaming import Renames, renames_of
from floodmark.storage.files.statement_files import is_kept
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.stores.overlay import Overlay
from floodmark.storage.table import Handle
from floodmark.storage.warehouse import ENGINE, REPLAYS
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.dependencies import needs_of
from floodmark.tables import layout
from floodmark.tables.cut import Cut, EpochProgress
from floodmark.tables.tables import Tables
from floodmark.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NONE = Renames()


class ReplayOutcome(StrEnum):
    """The result of one object's replay."""

    SAME = "same"
    DIFFERS = "differs"
    IMPOSSIBLE = "cannot be replayed"


@dataclass(frozen=True)
class ObjectReplay:
    """One object of one epoch, replayed.

    `rows` counts the published changes, late rows and dead letters. `digest` is their digest in any
    order, and `replayed` the digest of the replay. `cause` is the likely reason of a difference, or
    why the object cannot be replayed.
    """

    epoch: int
    object: str
    result: ReplayOutcome
    rows: int = 0
    digest: str = ""
    replayed: str = ""
    differences: tuple[RowDifference, ...] = ()
    cause: str = ""


def replay(
    warehouse: Warehouse,
    epoch: int | None = None,
    sample: int | None = None,
    keys: Collection[str] | None = None,
) -> Iterator[ObjectReplay]:
    """Replay an epoch (the newest by default), or a sample of those that are kept.

    Yields each object that the epoch changed, or those of `keys`. Raises E0414 for an epoch whose
    inputs have expired, and E0410 for one that is not sealed.
    """
    names = renames_of(warehouse)
    for chosen in _epochs(warehouse, epoch, sample, keys, names):
        again, asked = EpochReplay(warehouse, chosen, names), names.all_then(keys, chosen)
        for obj in again.objects_to_replay:
            if asked is None or obj.key in asked:
                yield again.replay_object(obj)


def replay_newest(warehouse: Warehouse, key: str, most_rows: int) -> ObjectReplay | None:
    """Replay the newest epoch that changed an object, did not create it, and took in few rows.

    Returns None if the latest epochs have none.
    """
    last, names = warehouse.log.head().sealed, renames_of(warehouse)
    for epoch in range(
        last, max(first_epoch(warehouse), last - warehouse.limits.replay_looks + 1) - 1, -1
    ):
        then = names.then(key, epoch)
        record = warehouse.log.seal_record(epoch).objects.get(then)
        if record is None or not _is_changed(record, epoch) or record.rows_in > most_rows:
            continue
        again = EpochReplay(warehouse, epoch, names)
        if then not in again.created:
            return again.replay_object(again.pipeline[then])
    return None


def first_epoch(warehouse: Warehouse) -> int:
    """Return the oldest epoch that can be replayed; the epoch before it must also be kept."""
    oldest = warehouse.retention_record.kept_epochs().oldest
    return oldest if oldest == 1 else oldest + 1


def _epochs(
    warehouse: Warehouse,
    epoch: int | None,
    sample: int | None,
    keys: Collection[str] | None,
    names: Renames = _NONE,
) -> list[int]:
    """Return the epochs to replay, oldest first; a sample is another one after each seal.

    It is one of epochs in which rows came, changed or went aside: there is nothing else to compare.
    """
    first, last = first_epoch(warehouse), warehouse.log.head().sealed
    if sample is not None:
        kept = range(first, last + 1)
        looked = Random(last).sample(kept, min(len(kept), sample * warehouse.limits.replay_looks))
        found = (e for e in looked if _touches(warehouse, e, names.all_then(keys, e)))
        return sorted(islice(found, sample))
    chosen = last if epoch is None else epoch
    warehouse.log.seal_record(max(chosen, 1))
    if chosen < first:
        raise DataError(
            "E0414",
            f"epoch {chosen} cannot be replayed: the rows that it read have expired",
            hint=f"the oldest epoch that can be replayed is {first}; SET retention in the "
            "pipeline files keeps future epochs longer",
        )
    return [chosen]


def _touches(warehouse: Warehouse, epoch: int, keys: Collection[str] | None) -> bool:
    records = warehouse.log.seal_record(epoch).objects
    chosen = [r for k, r in records.items() if keys is None or k in keys]
    return any(_is_changed(r, epoch) and _has_rows(r) for r in chosen)


def _has_rows(record: ObjectRecord) -> bool:
    return any((record.rows_in, record.rows_out, record.late_rows, record.dead_rows))


def _is_changed(record: ObjectRecord, epoch: int) -> bool:
    """Tell whether an epoch did work on an object; one that the object missed does not count."""
    return record.touched and record.position == epoch


class EpochReplay:
    """One sealed epoch, as it was opened."""

    def __init__(self, warehouse: Warehouse, epoch: int, names: Renames) -> None:
        self.warehouse = warehouse
        self.names = names
        self.epoch = epoch
        self.opened = warehouse.log.open_record(epoch)
        self.records = warehouse.log.seal_record(epoch).objects
        self.deployed = warehouse.definitions_of_version(self.opened.catalog_version)
        self.pipeline = self.deployed.pipeline
        change = warehouse.change_at(epoch, self.opened.catalog_version)
        self.created = change.new_keys
        before = warehouse.cut(epoch - 1).rename_keys(self.opened.renamed)
        kept = epoch_start_records(before, self.pipeline, self.created, change.previous_definitions)
        self.before = reshape_objects(warehouse, kept, self.opened)

    @property
    def objects_to_replay(self) -> list[AnalysedObject]:
        """Return the objects that the epoch advanced, in its order."""
        found = ((o, self.records.get(o.key)) for o in self.pipeline.writing_objects)
        return [o for o, r in found if r is not None and _is_changed(r, self.epoch)]

    @cached_property
    def _refill_epochs(self) -> dict[str, int]:
        """By object of today, the last epoch after this one in which it began anew."""
        out: dict[str, int] = {}
        for version in reversed(self.warehouse.catalogs.versions()):
            if version.epoch <= self.epoch:
                break
            for key in self.warehouse.change_at(version.epoch, version.version).new_keys:
                out.setdefault(self.names.now(key, version.epoch), version.epoch)
        return out

    def replay_object(self, obj: AnalysedObject) -> ObjectReplay:
        """Recompute an object and compare the results."""
        advance_input = self._advance_input(obj)
        reason = self._hindrance(obj, advance_input)
        if reason is not None:
            return ObjectReplay(self.epoch, obj.key, ReplayOutcome.IMPOSSIBLE, cause=reason)
        scratch = f"{ENGINE}/{REPLAYS}/{secrets.token_hex(8)}"
        try:
            with self.warehouse.sessions().guard():
                return self._compare(obj, advance_input, scratch)
        except TransientError:
            raise
        except DataError as error:
            return ObjectReplay(self.epoch, obj.key, ReplayOutcome.IMPOSSIBLE, cause=error.message)
        except FloodmarkError as error:
            cause = f"the replay fails: [{error.code}] {error.message}"
            return ObjectReplay(self.epoch, obj.key, ReplayOutcome.DIFFERS, cause=cause)
        finally:
            self.warehouse.objects.remove(scratch)

    def _advance_input(self, obj: AnalysedObject) -> AdvanceInput:
        """Return the input of the epoch as it was published."""
        progress = EpochProgress(Cut(self.epoch - 1, self.before), self.epoch)
        for key in needs_of(obj, self.pipeline):
            record = self.records.get(key)
            if record is not None and record != self.before.get(key):
                progress.add(record)
        advance_input = Run(
            self.warehouse, self.opened, self.pipeline, progress, self.created
        ).advance_input()
        asked = self.records[obj.key].asked
        return replace(
            advance_input,
            pin=lambda table, version: asked.get(table, version),
            writes_outside=False,
        )

    def _hindrance(self, obj: AnalysedObject, advance_input: AdvanceInput) -> str | None:
        """Return why the object cannot be replayed, as far as the logs and the source say."""
        needs = [obj.key, *self._keeping(obj), *sorted(needs_of(obj, self.pipeline))]
        present = self.warehouse.deployed().pipeline.objects
        for key in needs:
            today = self.names.now(key, self.epoch)
            if today not in present:
                return f"{key} has been dropped since"
            if today in self._refill_epochs:
                return f"{key} began anew in epoch {self._refill_epochs[today]}"
            before = self.before.get(key)
            if before is not None and before.backfilling:
                return f"{key} came from its backfill in it"
            if before is not None and before.position < self.epoch - 1:
                return f"{key} caught up on epochs {before.position + 1} to {self.epoch - 1} in it"
        if changed := self.deployed.find_function_changes(obj.key):
            return f"{', '.join(changed)} means something else since"
        if not is_kept(item for item in advance_input.dml if item["table"] == obj.key):
            return "the rows of a statement are not kept any more"
        connector = self._connector(obj)
        return (
            None
            if connector is None
            else connector.find_change(advance_input.splits.get(obj.key, ()))
        )

    def _keeping(self, obj: AnalysedObject) -> list[str]:
        """Return the sinks into a table that keep state: it goes when they begin anew, or go."""
        return [key for key in obj.feeders if layout.state_tables(self.pipeline[key])]

    def _connector(self, obj: AnalysedObject) -> Connector | None:
        reads = obj.declared is not None and obj.declared.connector is not None
        return self.warehouse.splits.connector(obj) if reads else None

    def _compare(
        self, obj: AnalysedObject, advance_input: AdvanceInput, scratch: str
    ) -> ObjectReplay:
        sessions = self.warehouse.sessions()
        before = self.before.get(obj.key)
        pinned = {} if before is None else dict(before.versions)
        # What came from elsewhere is part of the epoch's input: it is not asked for again.
        versions = self.records[obj.key].versions
        owners = (obj, *(self.pipeline[key] for key in obj.feeders))
        fetched = (t for owner in owners for t in layout.lookup_tables(owner))
        pinned |= {t: versions[t] for t in fetched if t in versions}
        corrected = layout.corrections_table(obj)
        if obj.key in advance_input.corrected:
            pinned[corrected] = self.warehouse.store.open(corrected).version
        overlay = Overlay(self.warehouse.store, self.warehouse.objects.sub_objects(scratch), pinned)
        again = Tables(overlay, sessions.main, self.warehouse.limits)
        record = advance_object(obj, advance_input, again, sessions, self._connector(obj))
        parts = [
            RowPart(
                label,
                columns,
                self._rows(self.warehouse.tables, self.records[obj.key], table, columns),
                self._rows(again, record, table, columns),
            )
            for label, table, columns in public_tables(obj)
        ]
        stored, replayed = digests(parts)
        same = ObjectReplay(
            self.epoch, obj.key, ReplayOutcome.SAME, stored.rows, stored.text, replayed.text
        )
        if stored == replayed:
            return same
        cause = likely_cause(obj, self.pipeline)
        differing = differences(parts, self.warehouse.limits)
        return replace(same, result=ReplayOutcome.DIFFERS, differences=differing, cause=cause)

    def _rows(
        self, tables: Tables, record: ObjectRecord, table: str, columns: Schema
    ) -> DataFrame | None:
        version = record.versions.get(table)
        if version is None:
            return None
        handle: Handle = tables.open(table, version)
        return tables.epoch_rows(handle, columns, self.epoch)


def public_tables(obj: AnalysedObject) -> list[tuple[str, str, Schema]]:
    """Return the tables in which an object is published: the kind of rows, table and columns."""
    if obj.external_sink is not None:
        dead = ("dead letter", layout.dead_letter_table(obj), layout.DEAD_LETTER)
        return [("change", layout.changes_table(obj), layout.changes_schema(obj)), dead]
    late = ("late row", layout.late_table(obj), layout.late_schema(obj))
    dead = ("dead letter", layout.dead_letter_table(obj), layout.DEAD_LETTER)
    if obj.append_only:
        rows = ("row", layout.current_table(obj), layout.current_schema(obj))
    else:
        rows = ("change", layout.changes_table(obj), layout.changes_schema(obj))
    return [rows, late, dead]
