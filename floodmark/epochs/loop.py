"""The loop of epochs: open, advance every object, seal.

The lease is held for one epoch at a time. An epoch is written to the log before any work, so that
after a crash the next run finishes it with the same offsets, the same time and the same
definitions.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from floodmark import failpoints
from floodmark.connectors.base import Split
from floodmark.epochs import new_version, removal, summary, version_rollback
from floodmark.epochs.backfill.choice import backfills
from floodmark.epochs.backfill.progress import resumable_backfills, running_backfills
from floodmark.epochs.backfill.workers import Workers
from floodmark.epochs.catch_up import catch_up_objects, lagging_objects, suspend_damaged, unreadable
from floodmark.epochs.clock_watermarks import advances_by_clock
from floodmark.epochs.maintenance.after_seal import maintain_tables
from floodmark.epochs.opening import open_epoch
from floodmark.epochs.publishing import publish_epoch
from floodmark.epochs.run import OnRecord, Run
from floodmark.epochs.summary import EpochSummary, field_notes
from floodmark.epochs.timers import due_timers, timer_batch
from floodmark.epochs.unreachable_sinks import UnreachableSinks
from floodmark.query.dml import foreign_changes
from floodmark.storage.checks.log_check import refuse_newer_records
from floodmark.storage.checks.older_log import refuse_tables_ahead
from floodmark.storage.durability import choose
from floodmark.storage.former_rows import separate_rows
from floodmark.storage.local_files import disk_errors
from floodmark.storage.logs.backfills import forget
from floodmark.storage.logs.epochs import OpenRecord
from floodmark.stream.objects.dependencies import upstream_of
from floodmark.tables.cut import Cut, EpochProgress
from floodmark.warehouse.project_folder import refuse_relocation, relocate_paths
from floodmark.warehouse.warehouse import Warehouse

ObjectSelection = Collection[str] | None


class EpochLoop:
    """Runs the epochs of one warehouse; one instance per process, used by one thread at a time."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.on_progress: OnRecord | None = None
        self._sinks = UnreachableSinks(warehouse)
        self._may_write = False

    @contextmanager
    def hold(self, purpose: str, *, moves: bool = False) -> Iterator[None]:
        """Hold the lease; an open epoch is completed first.

        Raises E0433 if the tables are ahead of the log, and E0362 in another project folder than
        the applied one, unless the block `moves` the project.
        """
        self._begin()
        with self._lease(purpose, f"what {purpose} needs"):
            failpoints.reach("lease_taken")
            if not moves:
                refuse_relocation(self.warehouse.deployed(), self.warehouse.home)
            self.complete()
            self._take_in_foreign()
            yield

    @contextmanager
    def _lease(self, purpose: str, what: str = "the warehouse") -> Iterator[None]:
        """Hold the lease and nothing else; an error of the disk names `what` it is about."""
        warehouse = self.warehouse
        with disk_errors(what), warehouse.lease.hold(purpose, warehouse.wait):
            separate_rows(warehouse.objects, warehouse.store)
            yield

    def _take_in_foreign(self, select: ObjectSelection = None) -> EpochSummary | None:
        """Run an epoch with rows that other programs wrote into tables; None without any."""
        warehouse = self.warehouse
        needed = None if select is None else upstream_of(select, warehouse.deployed().pipeline)
        entries = foreign_changes.entries(warehouse, needed)
        return self.run_once(dml=entries) if entries else None

    def complete(self) -> EpochSummary | None:
        """Finish an open epoch, or apply a logged catalog version that has no epoch yet."""
        pending = self._pending()
        return None if pending is None else self._run(pending)

    def _pending(self) -> OpenRecord | None:
        """Return the epoch that is open; one is opened for a catalog version that has none yet."""
        self._begin()
        warehouse = self.warehouse
        head = warehouse.log.head()
        if head.open is not None:
            undone = version_rollback.drop_open_epoch(
                warehouse, head.open, warehouse.catalogs.latest()
            )
            return warehouse.log.open_record(head.open.epoch) if undone else head.open
        removal.finish(warehouse)
        latest = warehouse.catalogs.last()
        if latest > self._catalog_version(head.sealed):
            return self._open_without_offsets(latest)
        return None

    def roll_back(self) -> EpochSummary | None:
        """Roll back definitions that are logged but not applied, in an epoch; None without any.

        Raises E0438 if the epoch that applies them has already written tables.
        """
        with self._lease("rollback"):
            self._begin()
            pending = (
                None if version_rollback.take_back(self.warehouse) is None else self._pending()
            )
            return None if pending is None else self._run(pending)

    def _begin(self) -> None:
        """Once, before anything is written: look for a lost or newer log, record the durability.

        No lease is held yet: its folder lies in that of the record.
        """
        if not self._may_write:
            refuse_newer_records(self.warehouse.objects)
            refuse_tables_ahead(self.warehouse.log, self.warehouse.store)
            choose(self.warehouse.objects, self.warehouse.durable)
            self._may_write = True

    def _catalog_version(self, epoch: int) -> int:
        """Return the catalog version of an epoch, 0 before the first; E0431 where it is missing."""
        version = self.warehouse.log.catalog_version(epoch)
        self.warehouse.catalogs.check_has(version, epoch)
        return version

    def has_new(self, select: ObjectSelection = None, now: datetime | None = None) -> bool:
        """Tell whether there is an open epoch or new input; needs no Spark and no lease.

        Rows that come or go by `now` (the clock's time by default) count as input. So do windows
        that the clock closes, tables older than the log, and backfills that can continue. With
        `select`, keys of objects, only what these objects need counts, without backfills; other
        sources may be unreachable.
        """
        warehouse = self.warehouse
        head = warehouse.log.head()
        if head.open is not None:
            return True
        chosen = None if select is None else self._stored_objects(select)
        if warehouse.catalogs.last() > self._catalog_version(head.sealed) or (
            select is None and (resumable_backfills(warehouse) or self._sinks.reachable())
        ):
            return True
        if warehouse.pending_drops.pending() is not None:
            return True
        until = now or warehouse.clock.now()
        if foreign_changes.tables_with_changes(warehouse, chosen):
            return True
        new = due_timers(warehouse, until, chosen) or self._new_splits(chosen, limit=1)
        return (
            bool(new) or advances_by_clock(warehouse, until, chosen) or bool(unreadable(warehouse))
        )

    def epochs(
        self,
        max_epochs: int | None = None,
        now: datetime | None = None,
        select: ObjectSelection = None,
    ) -> Iterator[EpochSummary]:
        """Run epochs until the sources have nothing new, or `max_epochs` have been sealed.

        Backfills run beside them, until they are done or the last epoch ends. With `select`, keys
        of objects, only these objects advance. An epoch that other objects take part in stays open,
        and the last summary says which ones it waits for. The next run without a selection
        completes it.
        """
        chosen = None if select is None else self._stored_objects(select)
        # What falls due later is for the next run: else time would pass, and this one never end.
        self._begin()
        until = now or self.warehouse.epoch_time()
        done, out_of_reach = 0, set(self._sinks.keys())
        with Workers(self.warehouse, self.on_progress) as workers:
            while max_epochs is None or done < max_epochs:
                if chosen is None:
                    workers.start()
                with self._lease("an epoch"):
                    failpoints.reach("lease_taken")
                    refuse_relocation(self.warehouse.deployed(), self.warehouse.home)
                    pending = self._pending()
                    note = self._run(pending, chosen) if pending else self._take_in_foreign(chosen)
                    note = note or self._next(now, until, chosen, out_of_reach)
                if note is None and workers.wait():
                    continue
                if note is None:
                    return
                done += 1
                yield note
                if not note.sealed:
                    return

    def _stored_objects(self, keys: Collection[str]) -> frozenset[str]:
        """Return the stored objects that a selection stands for: a sink is a part of its table."""
        pipeline = self.warehouse.deployed().pipeline
        objects = (pipeline[key] for key in keys)
        chosen = {o.key if o.object.target is None else o.object.target for o in objects}
        return frozenset(o.key for o in pipeline.writing_objects if o.key in chosen)

    def _next(
        self, now: datetime | None, until: datetime, select: ObjectSelection, out_of_reach: set[str]
    ) -> EpochSummary | None:
        """Run the next epoch, if there is something for one; else look at what tables end with.

        Sinks that were unreachable when the run began (`out_of_reach`) are tried again once.
        """
        warehouse = self.warehouse
        deployed, epoch = warehouse.deployed(), warehouse.log.head().sealed + 1
        opening = partial(open_epoch, warehouse, epoch, deployed.version, by_clock=now is None)
        again = select is None and self._sinks.lift(out_of_reach)
        out_of_reach.clear()
        changing = due_timers(warehouse, until, select)
        moment = timer_batch(warehouse, changing, until)
        if moment is not None:
            return self._run(opening(moment), select)
        new_splits = self._new_splits(select)
        if not new_splits:
            joins = select is None and (
                self._has_lagging_objects(epoch)
                or bool(backfills(warehouse, epoch, deployed.version, ()))
            )
            if not (again or joins or changing or advances_by_clock(warehouse, until, select)):
                suspend_damaged(warehouse, unreadable(warehouse))
                return None
        elif select is not None and not new_splits.keys() & select:
            moment = now or warehouse.epoch_time()
            return summary.summarise_unopened(
                epoch, moment, deployed.pipeline, new_splits.keys(), select
            )
        failpoints.reach("offsets_chosen")
        return self._run(opening(now or warehouse.epoch_time(), new_splits), select)

    def _has_lagging_objects(self, epoch: int) -> bool:
        """Tell whether something can catch up: its definition was refused by another version."""
        warehouse = self.warehouse
        pipeline = warehouse.deployed().pipeline
        behind = lagging_objects(warehouse, warehouse.cut().records, pipeline, epoch)
        return any(obj.key in behind for obj in pipeline.writing_objects)

    def _new_splits(
        self, select: ObjectSelection, limit: int | None = None
    ) -> dict[str, Sequence[Split]]:
        pipeline = self.warehouse.deployed().pipeline
        needed = None if select is None else upstream_of(select, pipeline)
        return self.warehouse.splits.new_splits(pipeline, limit, needed)

    def run_once(
        self, catalog_version: int | None = None, dml: Sequence[Mapping[str, Any]] = ()
    ) -> EpochSummary:
        """Run one epoch without offsets, for DDL or DML; the caller holds the lease.

        If the catalog version was rolled back, raises the reason after the epoch is sealed without
        it.
        """
        version = self.warehouse.deployed().version if catalog_version is None else catalog_version
        note = self._run(self._open_without_offsets(version, dml))
        if catalog_version is not None:
            version_rollback.raise_taken_back(self.warehouse, catalog_version)
        return note

    def _open_without_offsets(
        self, version: int, dml: Sequence[Mapping[str, Any]] = ()
    ) -> OpenRecord:
        """Open an epoch without offsets, by the version before where that is taken back."""
        warehouse = self.warehouse
        epoch, now = warehouse.log.head().sealed + 1, warehouse.epoch_time()
        opening = partial(open_epoch, warehouse, epoch, version, now, dml=dml)
        opened = version_rollback.attempt(warehouse, version, opening)
        return opened or open_epoch(warehouse, epoch, warehouse.deployed().version, now, dml=dml)

    def _run(self, record: OpenRecord, select: ObjectSelection = None) -> EpochSummary:
        """Advance every object, or the selected ones, to an open epoch; seal it if all are."""
        started, warehouse = time.monotonic(), self.warehouse
        preparing = partial(new_version.prepare_records, warehouse, record)
        kept = version_rollback.attempt(warehouse, record.catalog_version, preparing)
        if kept is None:
            return self._run(warehouse.log.open_record(record.epoch), select)
        deployed = relocate_paths(
            warehouse.definitions_of_version(record.catalog_version), warehouse.home
        )
        pipeline, change = deployed.pipeline, warehouse.change_at(record.epoch, deployed.version)
        created = change.new_keys
        anew = {k for k, r in record.backfills.items() if not r.versions}
        # From here on the epoch cannot be taken back.
        removal.empty(
            warehouse, created | anew, deployed, record.epoch, change.previous_definitions
        )
        left: Collection[str] = ()
        note = self.on_progress
        if select is None:
            kept = catch_up_objects(warehouse, kept, pipeline, record, created, note)
        else:
            left = lagging_objects(warehouse, kept, pipeline, record.epoch)
        progress = EpochProgress(Cut(record.epoch - 1, kept), record.epoch)
        earlier = warehouse.log.partial_records(record.epoch)
        for lost in Cut(record.epoch, earlier).settle(warehouse.store)[1]:
            del earlier[lost]  # it is done again
        for done in earlier.values():
            progress.add(done)
        run = Run(warehouse, record, pipeline, progress, created, select, left, on_progress=note)
        run.advance({o.key for o in pipeline.writing_objects} - earlier.keys())
        if run.left:
            return self._summarise_open(run, earlier.keys(), started)
        advanced = progress.records.items()
        records = {**kept, **{k: r.add_earlier(kept[k]) if k in kept else r for k, r in advanced}}
        publish_epoch(warehouse, record, records, pipeline)
        failpoints.reach("before_seal")
        seal = warehouse.log.seal(record.epoch, list(records.values()), warehouse.clock.now())
        failpoints.reach("after_seal")
        removal.finish(warehouse)
        events = {**seal.suspended, **warehouse.refusals()}
        suspended = {k: e.message for k, e in events.items()}
        took = _elapsed_seconds(started)
        if record.backfills:
            forget(
                warehouse.objects,
                [(r.object, r.position) for r in running_backfills(warehouse).values()],
            )
        maintain_tables(warehouse, kept, records)
        notes = [*record.notes, *field_notes(progress.records, pipeline)]
        return EpochSummary(record.epoch, record.now, records, suspended, took, notes=notes)

    def _summarise_open(self, run: Run, earlier: Collection[str], started: float) -> EpochSummary:
        """Log what a selection has advanced, and say what the open epoch waits for."""
        record, log = run.record, self.warehouse.log
        advanced = {k: r for k, r in run.progress.records.items() if r.touched and k not in earlier}
        if advanced:
            log.record_advanced(record.epoch, list(advanced.values()))
        return summary.summarise_open(
            EpochSummary(
                record.epoch,
                record.now,
                advanced,
                {k: e.message for k, e in self.warehouse.suspensions().items()},
                _elapsed_seconds(started),
                notes=record.notes,
            ),
            run.pipeline,
            run.left,
            run.select or (),
        )

    def resume(self, key: str) -> EpochSummary:
        """End a suspension; the epoch that this opens first catches up the missed epochs.

        Then it takes in what other programs have written into the object's table meanwhile. If that
        fails, the object is suspended again at once, not in a later run.
        """
        self.warehouse.log.record("resume", self.warehouse.epoch_time(), object=key)
        return self.run_once(dml=foreign_changes.entries(self.warehouse, [key]))


def _elapsed_seconds(started: float) -> float:
    return round(time.monotonic() - started, 3)
