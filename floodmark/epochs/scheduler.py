"""The loop of epochs: open, advance every object, seal.

The lease is held for one epoch at a time. An epoch is written to the log before any work, so that
whoever comes next finishes it with the same offsets, the same now and the same definitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

from floodmark.catalog.places import project_of
from floodmark.connectors.base import Split
from floodmark.epochs import new_version, removal, summary, taking_back
from floodmark.epochs.backfill.choice import backfills
from floodmark.epochs.backfill.progress import can_go_on, under_way
from floodmark.epochs.backfill.workers import Workers
from floodmark.epochs.catch_up import behind, caught_up, lift_gone, put_aside, unreadable
from floodmark.epochs.due import due, portion
from floodmark.epochs.maintenance import maintenance
from floodmark.epochs.passing_time import closes
from floodmark.epochs.places import lift, reachable, unreachable
from floodmark.epochs.run import Run
from floodmark.epochs.summary import EpochSummary, of_fields
from floodmark.query.dml import foreign
from floodmark.spark.session import Sessions
from floodmark.storage.ahead import refuse_tables_ahead
from floodmark.storage.backfill_log import forget
from floodmark.storage.catalog_log import CatalogLog
from floodmark.storage.durability import check_choice, choose
from floodmark.storage.epoch_log import EpochLog, ObjectRecord, OpenRecord
from floodmark.storage.lease import Lease
from floodmark.storage.leaving import LeavingTables
from floodmark.storage.local_files import disk_errors
from floodmark.storage.retention import Retention
from floodmark.storage.seed import pipeline_seed
from floodmark.storage.table import Store
from floodmark.stream.objects.dependencies import upstream_of
from floodmark.tables import failpoints
from floodmark.tables.clock import ClockGuard
from floodmark.tables.cut import Cut, Progress
from floodmark.tables.limits import MAX_DUE_ROWS, PLAN_NODES
from floodmark.tables.tables import Tables
from floodmark.warehouse.deployed import EMPTY, Deployed, load
from floodmark.warehouse.moving import at_home, refuse_moved
from floodmark.warehouse.offers import Offers, notes_on
from floodmark.warehouse.settings import Timeouts
from floodmark.warehouse.version_change import VersionChange

_STANDS_STILL = timedelta(milliseconds=1)
"""A clock that is no further back than this gives the same time again."""


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""


Progressed = Callable[[int, ObjectRecord], None]
Select = Collection[str] | None


class Scheduler:
    """Runs the epochs of one warehouse; one per process.

    One thread at a time runs epochs. What only reads definitions and logs, as the workers of
    backfills do, may be called from others beside it.
    """

    def __init__(
        self,
        root: Path,
        store: Store,
        clock: Clock,
        sessions: Callable[[], Sessions],
        wait: float = 60.0,
        durable: bool | None = None,
    ) -> None:
        check_choice(root, durable)
        self.root = root
        self.durable = durable
        self.store = store
        self.clock = clock
        self.log = EpochLog(root)
        self.catalogs = CatalogLog(root)
        self.lease = Lease(root)
        self.offers = Offers(self.log)
        self.kept = Retention(root)
        self.leaving = LeavingTables(root)
        self.wait = wait
        self.home: Path | None = None
        self.guard = ClockGuard(root, self.log)
        self.max_due_rows = MAX_DUE_ROWS
        self.plan_nodes = PLAN_NODES
        self.timeouts = Timeouts()
        self.on_progress: Progressed | None = None
        self._sessions = sessions
        self.tried = set[str]()
        self._tables: Tables | None = None
        self._deployed = EMPTY
        self._begun_writing = False
        self._change: tuple[tuple[int, int], VersionChange] | None = None

    @cached_property
    def seed(self) -> str:
        """Return what makes this warehouse's random values its own."""
        return pipeline_seed(self.root)

    @property
    def project(self) -> Path:
        """Return where relative paths of statements start: `home`, else as for `pipelines`."""
        return self.home or project_of(Path("pipelines"))

    def believed(self) -> datetime:
        """Return the clock's time for a new epoch; E0880 where it is too far ahead."""
        now = self.clock.now()
        if _is_machines(self.clock):
            self.guard.check(now)
        return now

    def sessions(self) -> Sessions:
        """Return the Spark sessions; attaches to Spark at first use."""
        return self._sessions()

    @property
    def tables(self) -> Tables:
        """Return the tables as frames of the present sessions; attaches to Spark at first use."""
        spark = self._sessions().main
        if self._tables is None or self._tables.spark is not spark:
            self._tables = Tables(self.store, spark)
        return self._tables

    def detach(self) -> None:
        """Forget Spark sessions that have ended; the next use attaches anew."""
        self._tables = None

    def deployed(self) -> Deployed:
        """Return the definitions in force: those of the newest logged catalog version.

        Those before, where it cannot be read; its first epoch takes it back.
        """
        return taking_back.readable(self, self.catalogs.last())

    def remember(self, rehearsed: Deployed) -> None:
        """Take the definitions of a version that has just been logged as what reading it gives."""
        self._deployed = rehearsed

    def at_version(self, version: int) -> Deployed:
        """Return the definitions of a catalog version."""
        if version == 0:
            return EMPTY
        known = self._deployed
        if version != known.version:
            known = load(self.catalogs.at(version), known)
            if version > self._deployed.version:
                self._deployed = known
        return known

    def cut(self, epoch: int | None = None) -> Cut:
        """Return the cut of a sealed epoch, the newest by default."""
        chosen = self.log.head().sealed if epoch is None else epoch
        if chosen == 0:
            return Cut()
        return Cut(chosen, self.log.sealed(chosen).objects)

    @contextmanager
    def held(self, purpose: str, *, moves: bool = False) -> Iterator[None]:
        """Hold the lease; whatever epoch is open is completed first.

        E0433 where the tables are ahead of the log; E0362 in another project than the one that was
        applied, unless that is what `moves` it.
        """
        self._begin()
        with disk_errors(f"what {purpose} needs"), self.lease.held(purpose, self.wait):
            failpoints.reach("lease_taken")
            if not moves:
                refuse_moved(self.deployed(), self.home)
            self.complete()
            self._take_in_foreign()
            yield

    def _take_in_foreign(self, select: Select = None) -> EpochSummary | None:
        """Run an epoch of what other programs wrote into tables; None where that is nothing."""
        needed = None if select is None else upstream_of(select, self.deployed().pipeline)
        found = foreign.entries(self, needed)
        return self.run_once(dml=found) if found else None

    def complete(self) -> EpochSummary | None:
        """Finish what the log says was begun: an open epoch, or a catalog version without one."""
        begun = self._begun()
        return None if begun is None else self._run(begun)

    def _begun(self) -> OpenRecord | None:
        self._begin()
        head = self.log.head()
        if head.open is not None:
            undone = taking_back.finished(self, head.open, self.catalogs.latest())
            return self.log.opened(head.open.epoch) if undone else head.open
        removal.finish(self)
        latest = self.catalogs.last()
        if latest > self._in_force(head.sealed):
            return self._opened(latest)
        return None

    def roll_back(self) -> EpochSummary | None:
        """Take back the definitions that wait to be applied, in an epoch; None where none do.

        E0438 where the epoch that applies them has done a part already.
        """
        with disk_errors("the warehouse"), self.lease.held("rollback", self.wait):
            self._begin()
            found = None if taking_back.take_back(self) is None else self._begun()
            return None if found is None else self._run(found)

    def _begin(self) -> None:
        """Once, before anything is written: look for a lost log, record what the warehouse is.

        No lease is held yet: its folder lies in that of the record.
        """
        if not self._begun_writing:
            refuse_tables_ahead(self.log, self.store)
            choose(self.root, self.durable)
            self._begun_writing = True

    def _in_force(self, epoch: int) -> int:
        """Return the catalog version of an epoch, 0 before the first; E0431 where it is missing."""
        version = self.log.catalog_version(epoch)
        self.catalogs.check_has(version, epoch)
        return version

    def has_new(self, select: Select = None, now: datetime | None = None) -> bool:
        """Tell whether there is an open epoch or new input; needs no Spark and no lease.

        What is due at `now`, the clock's time by default, is input, what the clock closes, a table
        that is older than the log, and a backfill that can go on. With `select`, keys of objects,
        backfills are not, nor is what they do not need, and a source that they do not need may be
        out of reach.
        """
        head = self.log.head()
        if head.open is not None:
            return True
        chosen = None if select is None else self._stored(select)
        if self.catalogs.last() > self._in_force(head.sealed) or (
            select is None and (can_go_on(self) or reachable(self))
        ):
            return True
        if self.leaving.read() is not None:
            return True
        until = now or self.clock.now()
        if foreign.changed_tables(self, chosen):
            return True
        found = due(self, until, chosen) or self._offered(chosen, limit=1)
        return bool(found) or closes(self, until, chosen) or bool(unreadable(self))

    def epochs(
        self,
        max_epochs: int | None = None,
        now: datetime | None = None,
        select: Collection[str] | None = None,
    ) -> Iterator[EpochSummary]:
        """Run epochs until the sources have nothing new, or `max_epochs` have been sealed.

        Backfills go on beside them: until they are done, or the step at the last epoch is.
        With `select`, keys of objects, nothing else advances: an epoch that others have a part in
        stays open, and its summary, the last one, says what it waits for. The next run without a
        selection completes it.
        """
        chosen = None if select is None else self._stored(select)
        # What falls due later is for the next run: else time would pass, and this one never end.
        self._begin()
        until = now or self.believed()
        done, out_of_reach = 0, set(unreachable(self))
        with Workers(self) as workers:
            while max_epochs is None or done < max_epochs:
                if chosen is None:
                    workers.start()
                with disk_errors("the warehouse"), self.lease.held("an epoch", self.wait):
                    failpoints.reach("lease_taken")
                    refuse_moved(self.deployed(), self.home)
                    begun = self._begun()
                    told = self._run(begun, chosen) if begun else self._take_in_foreign(chosen)
                    told = told or self._next(now, until, chosen, out_of_reach)
                if told is None and workers.wait():
                    continue
                if told is None:
                    return
                done += 1
                yield told
                if not told.sealed:
                    return

    def _stored(self, keys: Collection[str]) -> frozenset[str]:
        """Return the stored objects that a selection stands for: a sink is a part of its table."""
        pipeline = self.deployed().pipeline
        found = (pipeline[key] for key in keys)
        chosen = {o.key if o.object.target is None else o.object.target for o in found}
        return frozenset(o.key for o in pipeline.stored if o.key in chosen)

    def _next(
        self, now: datetime | None, until: datetime, select: Select, out_of_reach: set[str]
    ) -> EpochSummary | None:
        """Run the next epoch, if there is something for one; else look at what tables end with.

        Sinks that were `out_of_reach` as the run began are tried again, once.
        """
        deployed, head = self.deployed(), self.log.head()
        again = select is None and lift(self, out_of_reach)
        out_of_reach.clear()
        changing = due(self, until, select)
        moment, by_clock = portion(self, changing, until), now is None
        if moment is not None:
            record = self._open(head.sealed + 1, deployed.version, moment, by_clock=by_clock)
            return self._run(record, select)
        offers = self._offered(select)
        if not offers:
            joins = select is None and backfills(self, head.sealed + 1, deployed.version, ())
            if not (again or joins or changing or closes(self, until, select)):
                put_aside(self, unreadable(self))
                return None
        elif select is not None and not offers.keys() & select:
            epoch, moment = head.sealed + 1, now or self.believed()
            return summary.unopened(epoch, moment, deployed.pipeline, offers.keys(), select)
        failpoints.reach("offsets_chosen")
        at = now or self.believed()
        record = self._open(head.sealed + 1, deployed.version, at, offers, by_clock=by_clock)
        return self._run(record, select)

    def _offered(
        self, select: Collection[str] | None, limit: int | None = None
    ) -> dict[str, Sequence[Split]]:
        pipeline = self.deployed().pipeline
        needed = None if select is None else upstream_of(select, pipeline)
        return self.offers.of(pipeline, limit, needed)

    def run_once(
        self, catalog_version: int | None = None, dml: Sequence[Mapping[str, Any]] = ()
    ) -> EpochSummary:
        """Run one epoch without offsets, for DDL or DML; the caller holds the lease.

        Raises why the catalog version was taken back, once the epoch is sealed without it.
        """
        version = self.deployed().version if catalog_version is None else catalog_version
        told = self._run(self._opened(version, dml))
        if catalog_version is not None:
            taking_back.raise_taken_back(self, catalog_version)
        return told

    def _opened(self, version: int, dml: Sequence[Mapping[str, Any]] = ()) -> OpenRecord:
        """Open an epoch without offsets, by the version before where that is taken back."""
        epoch, now = self.log.head().sealed + 1, self.believed()
        opening = partial(self._open, epoch, version, now, dml=dml)
        opened = taking_back.attempt(self, version, opening)
        return opened or self._open(epoch, self.deployed().version, now, dml=dml)

    def _open(
        self,
        epoch: int,
        version: int,
        clock: datetime,
        offers: Mapping[str, Sequence[Split]] | None = None,
        dml: Sequence[Mapping[str, Any]] = (),
        *,
        by_clock: bool = True,
    ) -> OpenRecord:
        """Log the next epoch; `by_clock`: its time is what the clock says, not a user's word."""
        notes, now, former = list[str](), clock, 0
        if epoch > 1:
            before = self.log.opened(epoch - 1)
            last, former = before.now, before.catalog_version
            if clock <= last:
                now = last + timedelta(microseconds=1)
                if last - clock > _STANDS_STILL:
                    notes.append(f"the clock went back from {last} to {clock}; kept {now}")
        notes += notes_on(offers or {})
        back = self.at_version(version).takes_back
        notes += [back.text] if back is not None and version != former else []
        begins = self.catalogs.at(version).dml if version != former else ()
        splits = {k: [split.as_json() for split in v] for k, v in (offers or {}).items() if v}
        restarted = self.change_at(epoch, version).created
        lift_gone(self, restarted, version)
        opened = self.log.open(
            epoch,
            now,
            version,
            self.clock.now(),
            splits=splits,
            dml=[*dml, *begins],
            notes=notes,
            restarted=sorted(restarted),
            backfills=backfills(self, epoch, version, restarted) if epoch > 1 else None,
            exhausted=() if offers is None else self._exhausted(version, offers),
            renamed=self.at_version(version).renamed if version != former else {},
        )
        if by_clock and _is_machines(self.clock):
            self.guard.note(self.clock.now())
        failpoints.reach("offsets_logged")
        return opened

    def _exhausted(self, version: int, offers: Mapping[str, Sequence[Split]]) -> list[str]:
        """Return the sources that go by the clock of which an epoch takes all that they have."""
        found = self.at_version(version).pipeline.objects
        declared = ((key, found[key].declared) for key in self.offers.exhausted(offers))
        return sorted(key for key, says in declared if says is not None and says.clock.acts)

    def _run(self, record: OpenRecord, select: Collection[str] | None = None) -> EpochSummary:
        """Advance every object, or the selected ones, to an open epoch; seal it if all are."""
        started = time.monotonic()
        preparing = partial(new_version.prepared, self, record)
        kept = taking_back.attempt(self, record.catalog_version, preparing)
        if kept is None:
            return self._run(self.log.opened(record.epoch), select)
        deployed = at_home(self.at_version(record.catalog_version), self.home)
        pipeline, change = deployed.pipeline, self.change_at(record.epoch, deployed.version)
        created = change.created
        anew = {k for k, r in record.backfills.items() if not r.versions}
        # From here on the epoch cannot be taken back.
        removal.empty(self, created | anew, deployed, record.epoch, change.former)
        left: Collection[str] = ()
        if select is None:
            kept = caught_up(self, kept, pipeline, record, created)
        else:
            left = behind(self, kept, pipeline, record.epoch)
        progress = Progress(Cut(record.epoch - 1, kept), record.epoch)
        earlier = self.log.advanced(record.epoch)
        for lost in Cut(record.epoch, earlier).settled(self.store)[1]:
            del earlier[lost]  # it is done again
        for done in earlier.values():
            progress.add(done)
        run = Run(self, record, pipeline, progress, created, select, left)
        run.advance({o.key for o in pipeline.stored} - earlier.keys())
        if run.left:
            return self._left_open(run, earlier.keys(), started)
        failpoints.reach("before_seal")
        advanced = progress.done.items()
        records = {**kept, **{k: r.after(kept[k]) if k in kept else r for k, r in advanced}}
        seal = self.log.seal(record.epoch, list(records.values()), self.clock.now())
        failpoints.reach("after_seal")
        removal.finish(self)
        suspended = {k: e.message for k, e in seal.suspended.items()}
        took = _since(started)
        if record.backfills:
            forget(self.root, [(r.object, r.position) for r in under_way(self).values()])
        maintenance.after_seal(self, kept, records)
        notes = [*record.notes, *of_fields(progress.done, pipeline)]
        return EpochSummary(record.epoch, record.now, records, suspended, took, notes=notes)

    def _left_open(self, run: Run, earlier: Collection[str], started: float) -> EpochSummary:
        """Log what a selection has advanced, and say what the open epoch waits for."""
        record = run.record
        advanced = {k: r for k, r in run.progress.done.items() if r.touched and k not in earlier}
        if advanced:
            self.log.record_advanced(record.epoch, list(advanced.values()))
        return summary.left_open(
            EpochSummary(
                record.epoch,
                record.now,
                advanced,
                {k: e.message for k, e in self.log.suspended().items()},
                _since(started),
                notes=record.notes,
            ),
            run.pipeline,
            run.left,
            run.select or (),
        )

    def resume(self, key: str) -> EpochSummary:
        """Lift a suspension; the epoch that this opens first catches up what was missed.

        Then it takes in what other programs have written into its table meanwhile. What cannot be
        taken in suspends it again, now and not in a later run.
        """
        self.log.record("resume", self.believed(), object=key)
        return self.run_once(dml=foreign.entries(self, [key]))

    def change_at(self, epoch: int, version: int) -> VersionChange:
        """Return what an epoch with a catalog version changes of the definitions before it."""
        known = self._change
        if known is None or known[0] != (epoch, version):
            previous = self.log.catalog_version(epoch - 1)
            after = self.at_version(version)
            before = after if previous == version else self.at_version(previous)
            known = self._change = (epoch, version), VersionChange(before, after)
        return known[1]


def _is_machines(clock: Clock) -> bool:
    """Tell whether a clock is the machine's; what another one says is a word of its user."""
    return bool(getattr(clock, "is_machines", False))


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)
