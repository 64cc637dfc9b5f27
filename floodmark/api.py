"""The Python API: connect to a warehouse, execute SQL, advance epochs, read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from floodmark.catalog.places import anchor_path, project_of
from floodmark.changelog import EPOCH, KIND
from floodmark.epochs.loop import EpochLoop
from floodmark.epochs.maintenance.maintenance import MaintenanceReport, is_due, maintain
from floodmark.epochs.readiness import refuse_unready
from floodmark.epochs.run import OnRecord
from floodmark.epochs.summary import EpochSummary
from floodmark.errors import DataError, NotSupported, TransientError, UserError
from floodmark.limits import LIMITS, Limits
from floodmark.plan import nodes as n
from floodmark.query.dml.copying import copy_to
from floodmark.query.query import Reader
from floodmark.session import statements, suspension
from floodmark.session.audit import ObjectReplay, replay
from floodmark.session.audit.accounts import verify_accounts
from floodmark.session.ddl import deployment
from floodmark.session.ddl.deployment import DeploymentPlan
from floodmark.session.ddl.desired import DesiredState, read_files
from floodmark.session.inspect import system
from floodmark.session.inspect.sizes import TableSize, sizes_of
from floodmark.session.inspect.watch import check_retention
from floodmark.session.show import explain_name, explain_result, show
from floodmark.session.statement_progress import statement_progress
from floodmark.session.transaction import Transaction
from floodmark.spark.confs import SparkConfig, default_config
from floodmark.spark.failures import LOST
from floodmark.spark.round_trips import fetch
from floodmark.spark.session import Sessions, open_sessions
from floodmark.sql import statements as s
from floodmark.sql.hints import hints_of
from floodmark.sql.parse import parse_script, parse_statement
from floodmark.storage.backup.backup import back_up
from floodmark.storage.backup.manifest import Backup
from floodmark.storage.checks.verification import (
    TableFinding,
    check_is_there,
    verify_logs,
    verify_tables,
)
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.durability import objects_of, refuse_newer_warehouse
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.progress import ReportProgress
from floodmark.storage.warehouse import local_root
from floodmark.stream.explain.explained import Explanation
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.clock import SystemClock
from floodmark.tables.layout import companion_column
from floodmark.tables.results import Result, table_result
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.settings import ACCEPTED, check_setting, with_mode
from floodmark.warehouse.warehouse import Clock, Warehouse

__all__ = ["Floodmark", "Result", "connect"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def connect(
    warehouse: str | Path,
    pipelines: str | Path | None = None,
    *,
    clock: Clock | None = None,
    wait: float = 60.0,
    spark: SparkConfig | None = None,
    sessions: Callable[[], Sessions] | None = None,
    project: str | Path | None = None,
    durable: bool | None = None,
    limits: Limits = LIMITS,
) -> Floodmark:
    """Connect to a warehouse folder; a missing one is created.

    `pipelines` is a folder of SQL files: new objects in it are created at once; a changed one
    raises E0361 until `floodmark plan --apply`. Spark starts, or is attached, at first use;
    `sessions` shares Spark sessions that the caller opens and closes. Relative paths start at the
    `project`; unless it is given, that is the nearest folder with a `floodmark.toml` from the
    pipelines up, else their parent. A `durable` warehouse survives a power cut; that is decided
    when it is created, by default as `FLOODMARK_DURABLE` says, or durable. Raises E0436 if an
    existing warehouse differs, and E0430 if a newer version made it. `limits` bound work, memory
    and time; E0369 for a number that is out of its range, or the same in all warehouses.
    """
    root = local_root(warehouse)
    refuse_newer_warehouse(root)
    fm = Floodmark(root, clock or SystemClock(), wait, spark, sessions, durable, limits)
    if project is not None:
        fm.warehouse.home = Path(project).absolute()
    elif pipelines is not None:
        fm.warehouse.home = project_of(Path(pipelines))
    if pipelines is not None:
        fm.deploy(Path(pipelines))
    return fm


class Floodmark:
    """A connection to one warehouse; use it as a context manager, from one thread."""

    def __init__(
        self,
        root: Path,
        clock: Clock,
        wait: float = 60.0,
        spark: SparkConfig | None = None,
        sessions: Callable[[], Sessions] | None = None,
        durable: bool | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self.root = root
        self.clock = clock
        self._config = spark
        self._shared = sessions
        self._sessions: Sessions | None = None
        self._lock = threading.Lock()
        objects = objects_of(root)
        self.store = DeltaStore(objects, limits=limits)
        self.warehouse = Warehouse(
            objects, self.store, clock, self.sessions, wait, durable, limits=limits
        )
        self.loop = EpochLoop(self.warehouse)
        self.transaction = Transaction(self.loop, self.reader)

    def __enter__(self) -> Floodmark:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the Spark sessions and drop an open transaction; the next use attaches again."""
        self.transaction.close()
        self.warehouse.detach()
        sessions, self._sessions = self._sessions, None
        if sessions is not None:
            sessions.close()

    def sessions(self) -> Sessions:
        """Return the Spark sessions, opened at first use."""
        if self._shared is not None:
            return self._shared()
        # Objects advance in threads: without the lock, sessions that nobody closes would be opened.
        with self._lock:
            if self._sessions is None:
                self._sessions = open_sessions(self._config or default_config())
            return self._sessions

    def interrupt(self) -> None:
        """End the running queries; call it from another thread, repeatedly if necessary."""
        sessions = self._sessions
        if sessions is not None:
            sessions.interrupt_all()

    @property
    def deployed(self) -> Deployed:
        """Return the definitions in force."""
        return self.warehouse.deployed()

    @property
    def retention(self) -> timedelta:
        """Return the retention of changes and old epochs: `SET retention`, or 7 days."""
        return self.warehouse.settings.retention

    def read(self, pipelines: str | Path) -> DesiredState:
        """Parse a folder of pipeline files; their SET statements hold for this connection."""
        desired = read_files(Path(pipelines))
        if self.warehouse.home is not None:
            desired = replace(desired, project=self.warehouse.home)
        for setting in desired.settings:
            if setting.name.lower() not in ACCEPTED:
                check_setting(setting.name.lower(), setting.span)
            self._set(setting)
        return desired

    def plan(self, pipelines: str | Path) -> DeploymentPlan:
        """Return the plan of applying a folder of pipeline files.

        Also raises the errors that would refuse a run.
        """
        refuse_unready(self.warehouse)
        return self._plan_files(pipelines)

    def _plan_files(self, pipelines: str | Path) -> DeploymentPlan:
        """Return the plan without the checks for writing."""
        return deployment.plan_files(self.read(pipelines), self.deployed)

    def check(self, plan: DeploymentPlan) -> None:
        """Raise the errors that applying a plan would raise before it is logged; write and run
        nothing.

        Python functions of the plan are not run, so their errors appear only when it is applied.
        """
        statements.refuse_plan(plan, self.deployed, self.warehouse)

    def apply(self, pipelines: str | Path, *, discard_rows: bool = False) -> DeploymentPlan:
        """Apply a folder of pipeline files in one epoch and return what changed.

        Raises E0379 if a table with rows of statements would be dropped or refilled without them,
        unless `discard_rows` is set.
        """
        what, discards = "change of the definitions", ("drop", "rebuild") if discard_rows else ()
        self.warehouse.home = self.warehouse.home or project_of(Path(pipelines))
        with (
            statement_progress(what, self.warehouse) as progress,
            self.loop.hold("applying the pipeline files", moves=True),
        ):
            plan = self.plan(pipelines)
            if plan.changes or deployment.defines_else(plan, self.deployed):
                statements.apply_plan(plan, self.loop, progress, discards=discards)
        return plan

    def deploy(self, pipelines: Path) -> DeploymentPlan:
        """Apply a folder whose objects are all new or unchanged; a changed one is E0361."""
        plan = self._plan_files(pipelines)
        changed = [c for c in plan.changes if c.action != "create"]
        if changed:
            what = ", ".join(f"{c.key} ({c.reason})" for c in changed)
            raise UserError(
                "E0361",
                f"the pipeline files differ from what is deployed: {what}",
                hint="look at `floodmark plan`, then run `floodmark plan --apply`",
            )
        new = plan.changes or deployment.defines_else(plan, self.deployed)
        return self.apply(pipelines) if new else plan

    def advance(
        self,
        max_epochs: int | None = None,
        now: datetime | None = None,
        select: Collection[str] | None = None,
    ) -> list[EpochSummary]:
        """Take in the new rows of the sources, in as many epochs as needed, and return the epochs.

        With `select`, only the named objects advance. An epoch that other objects take part in
        stays open, and the last summary says which ones it waits for. A call without `select`
        completes it.
        """
        return list(self.epochs(max_epochs, now, select=select))

    def epochs(
        self,
        max_epochs: int | None = None,
        now: datetime | None = None,
        on_progress: OnRecord | None = None,
        select: Collection[str] | None = None,
        on_restart: Callable[[int], None] | None = None,
    ) -> Iterator[EpochSummary]:
        """Yield each epoch as it is sealed; `on_progress` is called for each object before that.

        If the Spark server dies or is abandoned, new sessions are opened (a local server is
        restarted), `on_restart` is called and the epoch is resumed, at most once per epoch. Raises
        E0511 the second time, and if the caller's shared sessions cannot be reopened.
        """
        self.loop.on_progress = on_progress
        chosen = self._keys(select)
        self._let_lost_sessions_go()
        left, restarted_in = max_epochs, -1
        try:
            while True:
                try:
                    for summary in self.loop.epochs(left, now, chosen):
                        left = None if left is None else left - 1
                        yield summary
                    return
                except TransientError as error:
                    sealed = self.warehouse.log.head().sealed
                    if error.code != LOST or restarted_in == sealed or not self._attaches_anew():
                        raise
                    restarted_in = sealed
                    text = f"{error.message}: sessions are opened anew and the epoch resumed"
                    self.warehouse.log.record("note", self.clock.now(), text)
                    if on_restart is not None:
                        on_restart(sealed + 1)
        finally:
            self.loop.on_progress = None

    def _attaches_anew(self) -> bool:
        """Release lost sessions; tell whether new ones can be opened."""
        if self._shared is None:
            self.close()
            return True
        return not self._shared().lost

    def _let_lost_sessions_go(self) -> None:
        """Release lost sessions between two statements; the next use attaches again.

        An open transaction fails, because its rows were read in these sessions.
        """
        if self._sessions is not None and self._sessions.lost:
            self.close()

    def execute(self, sql: str) -> Result:
        """Execute one statement; DML and DDL return when their epoch is sealed."""
        with self.transaction.failing():
            statement = parse_statement(sql)
        return self.run_statement(statement)

    def execute_script(self, text: str, file: str | None = None) -> list[Result]:
        """Execute all statements of a text, one after the other."""
        return [self.run_statement(statement) for statement in self.parse(text, file)]

    def parse(self, text: str, file: str | None = None) -> Sequence[s.Statement]:
        """Return the statements of a text; an error in it fails an open transaction."""
        with self.transaction.failing():
            return parse_script(text, file)

    def run_statement(self, statement: s.Statement) -> Result:
        """Execute a parsed statement, in the transaction where one is open."""
        self._let_lost_sessions_go()
        result = self.transaction.run(self.resolve_options(statement), self._run_alone)
        return replace(result, notices=(*result.notices, *hints_of(statement)))

    def _run_alone(self, statement: s.Statement) -> Result:
        match statement:
            case s.Select():
                return self._select(statement)
            case s.CopyTo():
                return copy_to(statement, self.transaction.reader(), self.sessions())
            case s.Insert() | s.Update() | s.Delete() | s.CopyFrom():
                return statements.run_dml(statement, self.loop, self.reader)
            case s.AlterResume() | s.AlterRebase():
                return suspension.execute_resume(statement, self.loop)
            case s.Definition() | s.Drop() | s.Alter():
                return statements.run_definition(statement, self.loop, self.reader)
            case s.Explain():
                return explain_result(statement, self.deployed, self.sizes, self._explain_statement)
            case s.Show() | s.Describe():
                return show(statement, self.deployed, self.warehouse.settings.values)
            case s.SetOption():
                return self._set(statement)
            case s.Flush():
                return Result(status="FLUSH")
            case _:
                raise NotSupported(
                    "E0366",
                    f"{statement.words} is understood but not available yet",
                    span=statement.span,
                    hint="docs/sql.md lists the statements that run",
                )

    def sql(self, query: str, at_epoch: int | None = None) -> DataFrame:
        """Return a query at the last sealed epoch, or an older one, as a Spark DataFrame."""
        statement = parse_statement(query)
        if not isinstance(statement, s.Select):
            raise UserError("E0367", "not a query", span=statement.span, hint="use execute()")
        reader = self.transaction.reader() if at_epoch is None else self.reader(at_epoch)
        return reader.frame(reader.plan(statement.query, statement.span))

    def reader(self, at_epoch: int | None = None) -> Reader:
        """Return a reader of a sealed epoch; raises E0412 if the epoch has expired."""
        warehouse, oldest = self.warehouse, self.warehouse.retention_record.kept_epochs().oldest
        if at_epoch is not None and at_epoch < oldest:
            raise DataError(
                "E0412",
                f"epoch {at_epoch} is not kept any more",
                hint=f"epochs {oldest} to {warehouse.log.head().sealed} are kept; SET retention "
                "in the pipeline files keeps future epochs longer",
            )
        cut = warehouse.cut(at_epoch)
        version = warehouse.log.catalog_version(cut.epoch)
        pipeline = warehouse.definitions_of_version(version).pipeline
        return Reader(
            warehouse.tables, pipeline, cut, self.clock.now(), system.tables(warehouse, pipeline)
        )

    def _select(self, statement: s.Select) -> Result:
        reader = self.transaction.reader()
        node = reader.plan(statement.query, statement.span)
        read = {scan.object for scan in n.scans(node)}
        with self.sessions().guard():
            result = table_result(node.schema, fetch(reader.frame(node)))
        return replace(result, notices=suspension.notices(read, self.warehouse))

    def find(self, name: str) -> AnalysedObject:
        """Return an object by name: a relation, or else a sink."""
        return self.deployed.find(name)

    def explain(self, name: str, deployed: Deployed | None = None) -> Explanation:
        """Return the analysed plan of an object, a query or a CREATE statement.

        Uses `deployed` as the definitions in force. Raises the errors that the CREATE would raise.
        """
        deployed = deployed or self.deployed
        if deployed.get(name) is not None:
            return explain_name(name, deployed)
        return self._explain_statement(self.resolve_options(parse_statement(name)), deployed)

    def _explain_statement(self, statement: s.Statement, deployed: Deployed) -> Explanation:
        return statements.explain(statement, deployed, self.warehouse, self.reader)

    def _set(self, statement: s.SetOption) -> Result:
        return self.warehouse.set(statement)

    def resolve_options(self, statement: s.Statement) -> s.Statement:
        """Return a statement with the values of SET filled into its options.

        The relative path of a COPY starts at the project.
        """
        if isinstance(statement, s.CopyFrom | s.CopyTo):
            return replace(statement, path=anchor_path(self.warehouse.project, statement.path))
        return with_mode(statement, self.warehouse.settings.mode)

    def changes(self, name: str, after: int | None = None) -> DataFrame:
        """Return the changes of an object after an epoch: `__epoch`, `__kind`, then its columns.

        Without an epoch, returns all changes that are kept. Raises E0413 if the changes right after
        the epoch have expired.
        """
        obj = self.find(name)
        if after is not None:
            check_retention(obj, after, self.warehouse)
        epoch, kind = (companion_column(obj, column) for column in ("epoch", "kind"))
        where = "" if after is None else f" WHERE {epoch} > {int(after)}"
        query = f'SELECT * FROM "{obj.key}__changes"{where}'
        return self.sql(query).withColumnsRenamed({epoch: EPOCH, kind: KIND})

    def replay(
        self,
        epoch: int | None = None,
        *,
        sample: int | None = None,
        objects: Collection[str] | None = None,
    ) -> list[ObjectReplay]:
        """Recompute a sealed epoch and compare the result with what was published.

        Replays the newest epoch by default, or `epoch`, or a sample of `sample` epochs within the
        retention; all objects of these epochs, or those named by `objects`. The warehouse is not
        changed. Raises E0414 for an epoch whose inputs have expired.
        """
        chosen: set[str] | None = None
        if objects is not None:
            chosen = {o.object.target or o.key for o in map(self.find, objects)}
        return list(replay(self.warehouse, epoch, sample, chosen))

    def status(self) -> Mapping[str, ObjectRecord]:
        """Return the newest record of every object, without Spark."""
        return self.warehouse.cut().records

    def sizes(self, name: str) -> tuple[TableSize, ...]:
        """Return an object's tables, its operators' state included, with rows and bytes.

        As of the newest sealed epoch, from file lists: without Spark.
        """
        obj = self.find(name)
        return sizes_of(obj, self.store, self.status().get(obj.object.target or obj.key))

    def verify(
        self, names: Collection[str] | None = None, progress: ReportProgress | None = None
    ) -> Iterator[TableFinding]:
        """Yield the faults of the logs and the stored tables; nothing if there are none.

        Checks all objects and the logs, or the named objects. For objects with intact tables, the
        row counts of the epochs must also add up. Changes nothing and needs no Spark. Raises E0464
        if there is no warehouse.
        """
        check_is_there(self.warehouse.objects, self.store)
        broken = set[str | None]()
        keys = None if names is None else {o.object.target or o.key for o in map(self.find, names)}
        logs: Iterator[TableFinding] = iter(())
        if names is None:
            logs = verify_logs(self.warehouse.objects, progress, self.warehouse.limits)
        tables = verify_tables(self.warehouse.log, self.store, keys, progress)
        for finding in dict.fromkeys(chain(logs, tables)):
            broken.add(finding.object)
            yield finding
        if None not in broken:
            yield from verify_accounts(self.warehouse, keys, broken)

    def back_up(self, folder: str | Path, progress: ReportProgress | None = None) -> Backup:
        """Copy the warehouse as of its last sealed epoch into a subfolder; needs no Spark."""
        return back_up(self.warehouse.objects, folder, progress, self.warehouse.limits)

    def has_new(self, select: Collection[str] | None = None, now: datetime | None = None) -> bool:
        """Tell whether a run, of a selection or of all objects, has work to do; needs no Spark."""
        return self.loop.has_new(self._keys(select), now)

    def maintain(self, retention: timedelta | None = None) -> MaintenanceReport:
        """Maintain every table; epochs of the last `retention` (the connection's) stay readable."""
        return maintain(self.warehouse, self.loop.hold, retention)

    def needs_maintenance(self) -> bool:
        """Tell whether enough time has passed since the last maintenance for another one."""
        return is_due(self.warehouse)

    def _keys(self, select: Collection[str] | None) -> list[str] | None:
        return None if select is None else [self.find(name).key for name in select]
