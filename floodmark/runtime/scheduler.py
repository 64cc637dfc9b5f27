"""The loop of epochs: open, advance every object, seal.

The lease is held for one epoch at a time. An epoch is written to the log before any work, so that
whoever comes next finishes it with the same offsets, the same now and the same definitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.catalog.objects import Kind
from floodmark.connectors.base import Connector, Discovery, SourceSpec, Split
from floodmark.connectors.registry import make_connector
from floodmark.errors import FloodmarkError, UserError
from floodmark.runtime import deployment, failpoints, layout, maintenance
from floodmark.runtime.cut import Cut, Progress
from floodmark.runtime.deployment import EMPTY, Deployed
from floodmark.runtime.epoch import Work, advance
from floodmark.runtime.inputs import EpochInputs
from floodmark.runtime.tables import Tables
from floodmark.spark.session import Sessions
from floodmark.storage import warehouse
from floodmark.storage.catalog_log import CatalogLog
from floodmark.storage.epoch_log import EpochLog, ObjectRecord, OpenRecord
from floodmark.storage.lease import Lease
from floodmark.storage.table import Store

THREADS = 4
MAX_ROWS_PER_EPOCH = 1_000_000


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""


@dataclass(frozen=True)
class EpochSummary:
    """What one epoch did: a record per object, and who is suspended with what message."""

    epoch: int
    now: datetime
    objects: Mapping[str, ObjectRecord]
    suspended: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0.0

    @property
    def touched(self) -> tuple[ObjectRecord, ...]:
        """Return the records of the objects that changed."""
        return tuple(r for r in self.objects.values() if r.touched)


Progressed = Callable[[int, ObjectRecord], None]


class Scheduler:
    """Runs the epochs of one warehouse; one per process, used from one thread."""

    def __init__(
        self,
        root: Path,
        store: Store,
        clock: Clock,
        sessions: Callable[[], Sessions],
        wait: float = 60.0,
    ) -> None:
        self.root = root
        self.store = store
        self.clock = clock
        self.log = EpochLog(root)
        self.catalogs = CatalogLog(root)
        self.lease = Lease(root)
        self.wait = wait
        self.on_progress: Progressed | None = None
        self._sessions = sessions
        self._tables: Tables | None = None
        self._deployed = EMPTY
        self._connectors: dict[str, tuple[AnalysedObject, Connector]] = {}
        self._discoveries: dict[str, Discovery] = {}
        self._discovered = 0

    def sessions(self) -> Sessions:
        """Return the Spark sessions; attaches to Spark at first use."""
        return self._sessions()

    @property
    def tables(self) -> Tables:
        """Return the tables as Spark frames; attaches to Spark at first use."""
        if self._tables is None:
            self._tables = Tables(self.store, self._sessions().main)
        return self._tables

    def deployed(self) -> Deployed:
        """Return the definitions in force: those of the newest logged catalog version."""
        latest = self.catalogs.latest()
        if latest is None:
            return EMPTY
        if latest.version != self._deployed.version:
            self._deployed = deployment.load(latest, self._deployed)
        return self._deployed

    def at_version(self, version: int) -> Deployed:
        """Return the definitions of a catalog version."""
        if version == 0:
            return EMPTY
        if version == self._deployed.version:
            return self._deployed
        return deployment.load(self.catalogs.at(version), self._deployed)

    def cut(self, epoch: int | None = None) -> Cut:
        """Return the cut of a sealed epoch, the newest by default."""
        chosen = self.log.head().sealed if epoch is None else epoch
        if chosen == 0:
            return Cut()
        return Cut(chosen, self.log.sealed(chosen).objects)

    @contextmanager
    def held(self, purpose: str) -> Iterator[None]:
        """Hold the lease; whatever epoch is open is completed first."""
        with self.lease.held(purpose, self.wait):
            failpoints.reach("lease_taken")
            self.complete()
            yield

    def complete(self) -> EpochSummary | None:
        """Finish what the log says was begun: an open epoch, or a catalog version without one."""
        head = self.log.head()
        if head.open is not None:
            return self._run(head.open)
        latest = self.catalogs.latest()
        in_force = self.log.opened(head.sealed).catalog_version if head.sealed else 0
        if latest is not None and latest.version > in_force:
            return self._run(self._open(head.sealed + 1, latest.version, self.clock.now()))
        return None

    def has_new(self) -> bool:
        """Tell whether there is an open epoch or new input; needs no Spark and no lease."""
        head = self.log.head()
        if head.open is not None:
            return True
        deployed = self.deployed()
        in_force = self.log.opened(head.sealed).catalog_version if head.sealed else 0
        return deployed.version > in_force or bool(self._offers(deployed, limit=1))

    def epochs(
        self, max_epochs: int | None = None, now: datetime | None = None
    ) -> Iterator[EpochSummary]:
        """Run epochs until the sources have nothing new, or `max_epochs` have been sealed."""
        done = 0
        while max_epochs is None or done < max_epochs:
            with self.lease.held("an epoch", self.wait):
                failpoints.reach("lease_taken")
                summary = self.complete() or self._next(now)
            if summary is None:
                return
            done += 1
            yield summary

    def _next(self, now: datetime | None) -> EpochSummary | None:
        deployed = self.deployed()
        offers = self._offers(deployed)
        if not offers:
            return None
        failpoints.reach("offsets_chosen")
        head = self.log.head()
        record = self._open(head.sealed + 1, deployed.version, now or self.clock.now(), offers)
        return self._run(record)

    def run_once(
        self, catalog_version: int | None = None, dml: Sequence[Mapping[str, Any]] = ()
    ) -> EpochSummary:
        """Run one epoch without offsets, for DDL or DML; the caller holds the lease."""
        head = self.log.head()
        version = self.deployed().version if catalog_version is None else catalog_version
        return self._run(self._open(head.sealed + 1, version, self.clock.now(), dml=dml))

    def _open(
        self,
        epoch: int,
        version: int,
        clock: datetime,
        offers: Mapping[str, Sequence[Split]] | None = None,
        dml: Sequence[Mapping[str, Any]] = (),
    ) -> OpenRecord:
        notes: list[str] = []
        now = clock
        if epoch > 1:
            last = self.log.opened(epoch - 1).now
            if clock <= last:
                now = last + timedelta(microseconds=1)
                if clock < last:
                    notes.append(f"the clock went back from {last} to {clock}; kept {now}")
        splits = {k: [split.as_json() for split in v] for k, v in (offers or {}).items() if v}
        opened = self.log.open(
            epoch,
            now,
            version,
            self.clock.now(),
            splits=splits,
            dml=dml,
            notes=notes,
            restarted=sorted(self._created_at(epoch, version)),
        )
        failpoints.reach("offsets_logged")
        return opened

    def _offers(self, deployed: Deployed, limit: int | None = None) -> dict[str, Sequence[Split]]:
        """Return what is new, by source; a source that cannot say does not stop the others.

        Its error is raised once the others have nothing new.
        """
        self._discover()
        positions = self.log.positions()
        suspended = self.log.suspended()
        out: dict[str, Sequence[Split]] = {}
        errors: list[FloodmarkError] = []
        for found in deployed.pipeline.objects.values():
            if found.declared is None or found.declared.connector is None or found.key in suspended:
                continue
            options = dict(found.declared.options)
            rows = limit or int(options.get("max_rows_per_epoch", MAX_ROWS_PER_EPOCH))
            discovery = self._discoveries.setdefault(found.key, Discovery())
            try:
                splits = self.connector(found).offer(positions.get(found.key, {}), rows, discovery)
            except FloodmarkError as error:
                errors.append(error)
                continue
            if splits:
                out[found.key] = splits
        if errors and not out:
            raise errors[0]
        return out

    def _discover(self) -> None:
        """Feed the splits that were logged since last time to the discoveries."""
        head = self.log.head()
        last = head.open.epoch if head.open is not None else head.sealed
        for epoch in self.log.epochs(after=self._discovered):
            if epoch > last:
                break
            opened = self.log.opened(epoch)
            for source in opened.restarted:
                self._discoveries.pop(source, None)
            for source, splits in opened.splits.items():
                found = self._discoveries.setdefault(source, Discovery())
                found.add(Split.from_json(split) for split in splits)
            self._discovered = epoch

    def connector(self, found: AnalysedObject) -> Connector:
        """Return the connector of a source."""
        cached = self._connectors.get(found.key)
        if cached is not None and cached[0] is found:
            return cached[1]
        declared = found.declared
        assert declared is not None
        connector = make_connector(
            SourceSpec(
                found.name,
                declared.physical,
                declared.format,
                declared.encode,
                dict(declared.options),
                tuple(c.metadata for c in declared.columns if c.metadata is not None),
            )
        )
        self._connectors[found.key] = (found, connector)
        return connector

    def _run(self, record: OpenRecord) -> EpochSummary:
        """Advance every object to an open epoch and seal it."""
        started = time.monotonic()
        deployed = self.at_version(record.catalog_version)
        before = self._settled(self.cut(record.epoch - 1))
        created = self._created_at(record.epoch, record.catalog_version)
        self._clear(created, deployed.pipeline, record.epoch)
        kept = {
            k: _kept(r, deployed.pipeline, created)
            for k, r in before.records.items()
            if k in deployed.pipeline.objects and k not in created
        }
        kept = self._caught_up(kept, deployed.pipeline, record.epoch, created)
        progress = Progress(Cut(before.epoch, kept), record.epoch)
        run = _Run(self, record, deployed.pipeline, progress, created)
        run.all_objects()
        failpoints.reach("before_seal")
        records = {**progress.before.records, **progress.done}
        seal = self.log.seal(record.epoch, list(records.values()), self.clock.now())
        failpoints.reach("after_seal")
        suspended = {k: e.message for k, e in seal.suspended.items()}
        duration = round(time.monotonic() - started, 3)
        maintenance.after_seal(self, kept, records)
        return EpochSummary(record.epoch, record.now, records, suspended, duration)

    def _settled(self, cut: Cut) -> Cut:
        """Return the cut at the versions that merging files has left since; pinned by the seal."""
        records = {
            key: replace(
                record,
                versions={t: self.store.settled(t, v) for t, v in record.versions.items()},
            )
            for key, record in cut.records.items()
        }
        return Cut(cut.epoch, records)

    def _caught_up(
        self,
        records: dict[str, ObjectRecord],
        pipeline: Pipeline,
        epoch: int,
        created: frozenset[str],
    ) -> dict[str, ObjectRecord]:
        """Take objects that are not suspended any more through the epochs that they missed."""
        out = dict(records)
        blocked = self._blocked(pipeline)
        behind = [r.position for k, r in records.items() if k not in blocked]
        for missed in range(min(behind, default=epoch - 1) + 1, epoch):
            late = {k for k, r in out.items() if r.position < missed}
            sealed = self.log.sealed(missed - 1).objects if missed > 1 else {}
            before = {**{k: r for k, r in sealed.items() if k in out}, **{k: out[k] for k in late}}
            progress = Progress(Cut(missed - 1, before), missed)
            for key, done in self.log.sealed(missed).objects.items():
                if key in out and key not in late:
                    progress.add(done)
            run = _Run(self, self.log.opened(missed), pipeline, progress, frozenset())
            run.only(late - created)
            out.update({k: r for k, r in progress.done.items() if k in late})
        return out

    def _blocked(self, pipeline: Pipeline) -> set[str]:
        """Return the suspended objects and all that depend on them."""
        blocked = set(self.log.suspended())
        for found in pipeline.stored:
            if _needs(found, pipeline) & blocked:
                blocked.add(found.key)
        return blocked

    def resume(self, key: str) -> EpochSummary:
        """Lift a suspension; the epoch that this opens first catches up what was missed."""
        self.log.record("resume", self.clock.now(), object=key)
        return self.run_once()

    def _created_at(self, epoch: int, version: int) -> frozenset[str]:
        """Return the objects that an epoch creates or begins anew: those its catalog changes."""
        previous = self.log.opened(epoch - 1).catalog_version if epoch > 1 else 0
        if previous == version:
            return frozenset()
        after = self.at_version(version).pipeline
        changes = deployment.changes_between(self.at_version(previous).pipeline, after)
        return frozenset(c.key for c in changes if c.action != "drop")

    def _clear(self, created: Iterable[str], pipeline: Pipeline, epoch: int) -> None:
        """Remove what an earlier object of the same name left; not what this epoch has written."""
        for key in created:
            found = pipeline[key]
            home = found.object.target or key
            for table in tables_of(found, self.store):
                done = self.store.open(table).transaction(home)
                if done is None or done < epoch:
                    self.store.drop(table)
                    if self._tables is not None:
                        self._tables.forget(table)


def tables_of(found: AnalysedObject, store: Store) -> list[str]:
    """Return the tables that an object has at rest; a sink has the state of its operators."""
    names = _state_tables(found)
    if found.kind not in (Kind.SINK, Kind.VIEW):
        names += [
            layout.current_table(found),
            layout.changes_table(found),
            layout.late_table(found),
            layout.dead_letter_table(found),
        ]
    return [name for name in names if store.exists(name)]


def _state_tables(found: AnalysedObject) -> list[str]:
    plan = found.plan
    states = [] if plan is None else [s.name for n in plan.nodes for s in plan[n].state]
    return [layout.state_table(found, name) for name in states]


def _kept(record: ObjectRecord, pipeline: Pipeline, created: frozenset[str]) -> ObjectRecord:
    """Return a record without the state of sinks that are gone, or begin anew in this epoch."""
    found = pipeline[record.object]
    owners = [found, *(pipeline[key] for key in found.feeders if key not in created)]
    states = {name for owner in owners for name in _state_tables(owner)}
    versions = {
        table: version
        for table, version in record.versions.items()
        if not table.startswith(f"{warehouse.STATE}/") or table in states
    }
    return replace(record, versions=versions)


def _needs(found: AnalysedObject, pipeline: Pipeline) -> set[str]:
    """Return what has to be advanced before an object: what it reads, or its sinks do."""
    sinks = [pipeline[key] for key in found.feeders]
    return {*found.reads, *(name for sink in sinks for name in sink.reads)}


class _Run:
    """One epoch's objects, in dependency order, independent ones in parallel."""

    def __init__(
        self,
        scheduler: Scheduler,
        record: OpenRecord,
        pipeline: Pipeline,
        progress: Progress,
        created: frozenset[str],
    ) -> None:
        self.scheduler = scheduler
        self.record = record
        self.pipeline = pipeline
        self.progress = progress
        self.created = created
        self.suspended = set(scheduler.log.suspended())

    def all_objects(self) -> None:
        """Advance everything; an object that fails by its user's fault is suspended."""
        self.only({o.key for o in self.pipeline.stored})

    def only(self, keys: set[str]) -> None:
        """Advance some objects, each after those that flow into it."""
        waiting = {o.key: _needs(o, self.pipeline) for o in self.pipeline.stored if o.key in keys}
        running: dict[Future[ObjectRecord | None], str] = {}
        with ThreadPoolExecutor(THREADS) as pool:
            while waiting or running:
                busy = waiting.keys() | set(running.values())
                ready = [key for key, needs in waiting.items() if not needs & busy]
                for key in ready:
                    waiting.pop(key)
                    running[pool.submit(self._one, key)] = key
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    self._finished(running.pop(future), future)

    def _finished(self, key: str, future: Future[ObjectRecord | None]) -> None:
        try:
            record = future.result()
        except UserError as error:
            self.scheduler.log.record(
                "suspend", self.scheduler.clock.now(), error.message, object=key, code=error.code
            )
            record = None
        if record is None:
            self.suspended.add(key)
            if key not in self.progress.before.records:
                behind = self.record.epoch - 1
                self.progress.add(ObjectRecord(key, {}, touched=False, position=behind))
            return
        self.progress.add(replace(record, position=self.record.epoch))
        failpoints.reach("first_object_done")
        if self.scheduler.on_progress is not None and record.touched:
            self.scheduler.on_progress(self.record.epoch, record)

    def _one(self, key: str) -> ObjectRecord | None:
        """Advance one object; None when it or something it reads is suspended."""
        found = self.pipeline[key]
        if key in self.suspended or _needs(found, self.pipeline) & self.suspended:
            return None
        work = self.work()
        if not self._has_work(found, work):
            return self._untouched(found, work)
        sessions = self.scheduler._sessions()
        with sessions.guarded():
            reads = found.declared is not None and found.declared.connector is not None
            connector = self.scheduler.connector(found) if reads else None
            return advance(found, work, self.scheduler.tables, sessions, connector)

    def work(self) -> Work:
        """Return what the epoch asks, with what it has done so far."""
        splits = {
            source: [Split.from_json(split) for split in taken]
            for source, taken in self.record.splits.items()
        }
        unfilled = {k for k, r in self.progress.before.records.items() if not r.versions}
        created = self.created | unfilled
        return Work(
            self.record.epoch,
            self.record.now,
            self.progress.before,
            self.progress.cut(),
            self.pipeline,
            created,
            splits,
            self.record.dml,
            {"catalog_version": self.record.catalog_version},
        )

    def _has_work(self, found: AnalysedObject, work: Work) -> bool:
        if found.key in work.created or found.key in work.splits:
            return True
        if any(item["table"] == found.key for item in work.dml):
            return True
        done = self.progress.done
        changed = {k for k, r in done.items() if r.touched and (r.rows_out or k in work.created)}
        if _needs(found, self.pipeline) & changed or self.created & set(found.feeders):
            return True
        return found.emits_on_close and self._closes(found, work)

    def _closes(self, found: AnalysedObject, work: Work) -> bool:
        before, after = work.before, work.after
        return any(before.watermarks(k) != after.watermarks(k) for k in found.reads)

    def _untouched(self, found: AnalysedObject, work: Work) -> ObjectRecord:
        before = work.before.records.get(found.key) or ObjectRecord(found.key, {})
        marks = dict(before.watermarks)
        if found.plan is not None and found.relation.watermarks:
            inputs = EpochInputs(
                _NO_TABLES, self.pipeline.objects, work.before, work.after, work.now, fills=False
            )
            fresh = inputs.watermarks(found.plan.root)
            marks = {c: fresh[c] for c, _ in found.relation.watermarks if c in fresh}
        return replace(
            before,
            rows_in=0,
            rows_out=0,
            late_rows=0,
            dead_rows=0,
            duration_s=0.0,
            touched=False,
            watermarks=marks,
        )


class _NoTables:
    """Stands for tables where only watermarks are asked for, so that Spark is not attached."""

    spark: Any = None


_NO_TABLES: Any = _NoTables()
