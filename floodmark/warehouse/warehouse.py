"""The open warehouse: its logs, its tables, its clock and the definitions in force.

Nothing here runs an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import Protocol

from floodmark.cached import cached_property
from floodmark.catalog.places import project_of
from floodmark.errors import DataError, TransientError
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from floodmark.sql import statements as s
from floodmark.storage.durability import check_choice, objects_of
from floodmark.storage.lease.lease import lease_of
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.storage.logs.epochs import EpochLog, Event
from floodmark.storage.logs.pending_drops import PendingDrops
from floodmark.storage.logs.retention import Retention
from floodmark.storage.logs.seed import pipeline_seed
from floodmark.storage.objects.contract import Location
from floodmark.storage.table import Store
from floodmark.tables.clock import ClockGuard
from floodmark.tables.cut import Cut
from floodmark.tables.results import Result
from floodmark.tables.stored_relation import StoredTables
from floodmark.tables.tables import Tables
from floodmark.warehouse.deployed import EMPTY, Deployed, load
from floodmark.warehouse.refusal_events import home_of, refusal_event
from floodmark.warehouse.settings import Settings
from floodmark.warehouse.split_enumerator import SplitEnumerator
from floodmark.warehouse.version_change import VersionChange


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""


class Warehouse:
    """One warehouse as a process has it open.

    Definitions and logs may be read from several threads.
    """

    def __init__(
        self,
        place: Location,
        store: Store,
        clock: Clock,
        sessions: Callable[[], Sessions],
        wait: float = 60.0,
        durable: bool | None = None,
        *,
        limits: Limits,
    ) -> None:
        check_choice(place, durable)
        self.objects = objects_of(place)
        self.durable = durable
        self.store = store
        self.clock = clock
        self.log = EpochLog(self.objects)
        self.catalogs = CatalogLog(self.objects)
        self.lease = lease_of(self.objects)
        self.limits = limits
        self.splits = SplitEnumerator(self.log, limits)
        self.retention_record = Retention(self.objects)
        self.pending_drops = PendingDrops(self.objects)
        self.wait = wait
        self.home: Path | None = None
        self.settings = Settings(limits)
        self.guard = ClockGuard(self.objects, self.log, self.settings.max_clock_jump)
        self._sessions = sessions
        self._tables: Tables | None = None
        self._deployed = EMPTY
        self._change: tuple[tuple[int, int], VersionChange] | None = None

    @cached_property
    def seed(self) -> str:
        """Return the seed of this warehouse's random values."""
        return pipeline_seed(self.objects)

    @property
    def project(self) -> Path:
        """Return where relative paths of statements start: `home`, else as for `pipelines`."""
        return self.home or project_of(Path("pipelines"))

    def set(self, statement: s.SetOption) -> Result:
        """Give a setting its value."""
        result = self.settings.set(statement)
        self.guard.max_jump = self.settings.max_clock_jump
        return result

    @property
    def has_machine_clock(self) -> bool:
        """Tell whether the clock is the machine's; what another one says is a word of its user."""
        return bool(getattr(self.clock, "is_machines", False))

    def epoch_time(self) -> datetime:
        """Return the clock's time for a new epoch; E0880 where it is too far ahead."""
        now = self.clock.now()
        if self.has_machine_clock:
            self.guard.check(now)
        return now

    def sessions(self) -> Sessions:
        """Return the Spark sessions; attaches to Spark at first use."""
        return self._sessions()

    @property
    def tables(self) -> Tables:
        """Return the tables as frames of the present sessions; attaches to Spark at first use."""
        spark = self._sessions().main
        made = self._tables
        if made is None or (made.spark, made.limits) != (spark, self.limits):
            self._tables = made = Tables(self.store, spark, self.limits)
        return made

    def detach(self) -> None:
        """Forget Spark sessions that have ended; the next use attaches again."""
        self._tables = None

    def deployed(self) -> Deployed:
        """Return the definitions in force: those of the newest logged catalog version.

        If that version cannot be read, returns those of the last epoch. The holder of the lease
        gets the reason and rolls the version back.
        """
        newest = self.catalogs.last()
        try:
            return self.definitions_of_version(newest)
        except (DataError, TransientError):
            raise
        except Exception:
            sealed = self.newest_sealed_version()
            if sealed >= newest:
                raise
            return self.definitions_of_version(sealed)

    def remember(self, rehearsed: Deployed) -> None:
        """Cache the definitions of a version that has just been logged."""
        self._deployed = rehearsed

    def definitions_of_version(self, version: int) -> Deployed:
        """Return the definitions of a catalog version."""
        if version == 0:
            return EMPTY
        known = self._deployed
        if version != known.version:
            sealed = self.newest_sealed_version()
            if version > sealed:
                # What was in force stays, though it is refused now; what is new has to hold.
                known = self.definitions_of_version(sealed)
            at_rest = self._stored_tables(version) if version <= sealed else None
            known = load(self.catalogs.get(version), known, at_rest)
            if version > self._deployed.version:
                self._deployed = known
        return known

    def _stored_tables(self, version: int) -> StoredTables:
        """Return the stored tables; only the version in force comes with records."""
        epoch = self.log.head().sealed
        in_force = self.log.catalog_version(epoch) == version
        return StoredTables(self.store, self.log.seal_record(epoch).objects if in_force else {})

    def suspensions(self) -> dict[str, Event]:
        """Return the suspensions in force now, by object: those logged, and refused definitions.

        A refused sink suspends the table that it writes.
        """
        return self.log.suspensions() | self.refusals()

    def refusals(self) -> dict[str, Event]:
        """Return the suspensions that follow from definitions which this version refuses."""
        refused = [o for o in self.deployed().pipeline.objects.values() if o.refused is not None]
        if not refused:
            return {}
        cut, sealed_at = self.cut(), self.log.seal_record(self.log.head().sealed).sealed_at
        return {home_of(obj): refusal_event(obj, cut, sealed_at) for obj in reversed(refused)}

    def newest_sealed_version(self) -> int:
        """Return the catalog version of the last sealed epoch; 0 before the first."""
        return self.log.catalog_version(self.log.head().sealed)

    def change_at(self, epoch: int, version: int) -> VersionChange:
        """Return what an epoch with a catalog version changes of the definitions before it."""
        known = self._change
        if known is None or known[0] != (epoch, version):
            previous = self.log.catalog_version(epoch - 1)
            after = self.definitions_of_version(version)
            before = after if previous == version else self.definitions_of_version(previous)
            change = VersionChange(before, after, self._find_restarts(epoch, version))
            known = self._change = (epoch, version), change
        return known[1]

    def _find_restarts(self, epoch: int, version: int) -> Collection[str] | None:
        """Return the objects that begin anew in an epoch; None unless opened with the version."""
        head = self.log.head()
        opened = head.open if epoch > head.sealed else self.log.open_record(epoch)
        return (
            opened.restarted if opened is not None and opened.catalog_version == version else None
        )

    def cut(self, epoch: int | None = None) -> Cut:
        """Return the cut of a sealed epoch, the newest by default."""
        chosen = self.log.head().sealed if epoch is None else epoch
        if chosen == 0:
            return Cut()
        return Cut(chosen, self.log.seal_record(chosen).objects)
