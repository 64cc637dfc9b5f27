"""What Python programs use: connect to a warehouse, execute SQL, advance epochs, read."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from floodmark.analysis.explain import Explanation, explain_object, explain_plan
from floodmark.analysis.pipeline import AnalysedObject, plain_views, plan_of
from floodmark.catalog.objects import Kind, key_of, kind_of, qualified
from floodmark.catalog.types import Schema
from floodmark.errors import DataError, NotSupported, UserError
from floodmark.plan.build import build_query
from floodmark.runtime import deployment, dml, system
from floodmark.runtime.deployment import Deployed, Desired, Plan
from floodmark.runtime.layout import tables_of
from floodmark.runtime.query import Reader
from floodmark.runtime.results import python_rows
from floodmark.runtime.scheduler import Clock, Progressed, Scheduler
from floodmark.runtime.settings import RETENTION, retention_of
from floodmark.runtime.summary import EpochSummary
from floodmark.spark.confs import SparkConfig, default_config
from floodmark.spark.session import Sessions, open_sessions
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script, parse_statement
from floodmark.storage.delta import DeltaStore
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.statistics import read_footer
from floodmark.storage.warehouse import engine_folder, local_root

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result; `type` is the SQL type's text."""

    name: str
    type: str


@dataclass(frozen=True)
class Result:
    """What a statement gave: rows as tuples of Python values, or a status line."""

    columns: tuple[ResultColumn, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    rowcount: int = -1
    status: str = ""
    notices: tuple[str, ...] = ()


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC)


def connect(
    warehouse: str | Path,
    pipelines: str | Path | None = None,
    *,
    clock: Clock | None = None,
    wait: float = 60.0,
    spark: SparkConfig | None = None,
    sessions: Callable[[], Sessions] | None = None,
) -> Floodmark:
    """Connect to a warehouse folder, making it where there is none.

    `pipelines` is a folder of SQL files: objects that are new in it are created at once; a changed
    one is E0361 until `floodmark plan --apply`. Spark starts, or is attached, at first use;
    `sessions` shares those that somebody else opens and closes.
    """
    fm = Floodmark(local_root(warehouse), clock or SystemClock(), wait, spark, sessions)
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
    ) -> None:
        self.root = root
        self.clock = clock
        self._config = spark
        self._shared = sessions
        self._sessions: Sessions | None = None
        self._lock = threading.Lock()
        self._settings: dict[str, str] = {}
        self.store = DeltaStore(root)
        self.scheduler = Scheduler(root, self.store, clock, self.sessions, wait)

    def __enter__(self) -> Floodmark:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the Spark sessions; the server stays, and the next use attaches anew."""
        self.scheduler.detach()
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

    @property
    def deployed(self) -> Deployed:
        """Return the definitions in force."""
        return self.scheduler.deployed()

    @property
    def retention(self) -> timedelta:
        """Return how long changes and old epochs are kept: `SET retention`, or 7 days."""
        text = self._settings.get("retention")
        return RETENTION if text is None else retention_of(text)

    def read(self, pipelines: str | Path) -> Desired:
        """Parse a folder of pipeline files; their SET statements hold for this connection."""
        folder = Path(pipelines)
        if not folder.is_dir():
            raise UserError(
                "E0365",
                f"the pipeline folder {folder} does not exist",
                hint="give a folder of .sql files",
            )
        desired = deployment.read_files(folder)
        for setting in desired.settings:
            self._set(setting)
        return desired

    def plan(self, pipelines: str | Path) -> Plan:
        """Return what applying a folder of pipeline files would change."""
        return deployment.plan_files(self.read(pipelines), self.deployed)

    def apply(self, pipelines: str | Path) -> Plan:
        """Apply a folder of pipeline files in one epoch and return what changed."""
        with self.scheduler.held("applying the pipeline files"):
            plan = self.plan(pipelines)
            if plan.changes or set(plan.catalog.objects) != set(self.deployed.catalog.objects):
                self._apply(plan)
        return plan

    def deploy(self, pipelines: Path) -> Plan:
        """Apply a folder whose objects are all new or unchanged; a changed one is E0361."""
        plan = self.plan(pipelines)
        changed = [c for c in plan.changes if c.action != "create"]
        if changed:
            what = ", ".join(f"{c.key} ({c.reason})" for c in changed)
            raise UserError(
                "E0361",
                f"the pipeline files differ from what is deployed: {what}",
                hint="look at `floodmark plan`, then run `floodmark plan --apply`",
            )
        return self.apply(pipelines) if plan.changes else plan

    def _apply(self, plan: Plan) -> EpochSummary:
        before = self.deployed.pipeline
        for key in plan.created:
            created = plan.pipeline[key]
            if created.declared is not None and created.declared.connector is not None:
                # A wrong option is refused here: nothing has been logged yet.
                self.scheduler.offers.connector(created)
        epoch = self.scheduler.log.head().sealed + 1
        version = self.scheduler.catalogs.append(
            epoch, deployment.statements_of(plan.catalog), self.clock.now()
        )
        summary = self.scheduler.run_once(version.version)
        for change in plan.changes:
            if change.action == "drop":
                for table in tables_of(before[change.key], self.store):
                    self.store.drop(table)
        return summary

    def advance(
        self,
        max_epochs: int | None = None,
        now: datetime | None = None,
        select: Collection[str] | None = None,
    ) -> list[EpochSummary]:
        """Take in what the sources have, in as many epochs as it needs, and return them.

        With `select`, names of objects, nothing else advances. An epoch that others have a part in
        stays open; the last summary says what it waits for. A call without `select` completes it.
        """
        return list(self.epochs(max_epochs, now, select=select))

    def epochs(
        self,
        max_epochs: int | None = None,
        now: datetime | None = None,
        on_progress: Progressed | None = None,
        select: Collection[str] | None = None,
    ) -> Iterator[EpochSummary]:
        """Yield each epoch as it is sealed; `on_progress` hears of each object before that."""
        self.scheduler.on_progress = on_progress
        chosen = None if select is None else [self.find(name).key for name in select]
        yield from self.scheduler.epochs(max_epochs, now, chosen)

    def execute(self, sql: str) -> Result:
        """Execute one statement; DML and DDL return when their epoch is sealed."""
        return self.run_statement(parse_statement(sql))

    def execute_script(self, text: str, file: str | None = None) -> list[Result]:
        """Execute all statements of a text, one after the other."""
        return [self.run_statement(statement) for statement in parse_script(text, file)]

    def run_statement(self, statement: s.Statement) -> Result:
        """Execute a parsed statement."""
        match statement:
            case s.Select():
                return self._select(statement)
            case s.Insert() | s.Update() | s.Delete():
                return self._dml(statement)
            case s.Definition() | s.Drop():
                return self._ddl(statement)
            case s.AlterResume():
                return self._resume(statement)
            case s.Explain():
                return _text_result("QUERY PLAN", self._explain(statement))
            case s.Show() | s.Describe():
                return self._show(statement)
            case s.SetOption():
                return self._set(statement)
            case s.Flush():
                return Result(status="FLUSH")
            case _:
                raise NotSupported(
                    "E0366",
                    f"{type(statement).__name__} is understood but not available yet",
                    span=statement.span,
                    hint="docs/sql.md lists the statements that run",
                )

    def sql(self, query: str, at_epoch: int | None = None) -> DataFrame:
        """Return a query at the last sealed epoch, or an older one, as a Spark DataFrame."""
        statement = parse_statement(query)
        if not isinstance(statement, s.Select):
            raise UserError(
                "E0367", "this is not a query", span=statement.span, hint="use execute()"
            )
        reader = self.reader(at_epoch)
        return reader.frame(reader.plan(statement.query, statement.span))

    def reader(self, at_epoch: int | None = None) -> Reader:
        """Return what can be read at a sealed epoch; one that is not kept any more is E0412."""
        scheduler = self.scheduler
        oldest = scheduler.kept.read().oldest
        if at_epoch is not None and at_epoch < oldest:
            raise DataError(
                "E0412",
                f"epoch {at_epoch} is not kept any more",
                hint=f"epochs {oldest} to {scheduler.log.head().sealed} are kept; "
                "SET retention in the pipeline files keeps later ones longer",
            )
        cut = scheduler.cut(at_epoch)
        version = scheduler.log.opened(cut.epoch).catalog_version if cut.epoch else 0
        pipeline = scheduler.at_version(version).pipeline
        return Reader(
            scheduler.tables, pipeline, cut, self.clock.now(), system.tables(scheduler, pipeline)
        )

    def _select(self, statement: s.Select) -> Result:
        reader = self.reader()
        node = reader.plan(statement.query, statement.span)
        with self.sessions().guarded():
            rows = python_rows(reader.frame(node).toArrow(), node.schema)
        return Result(_columns(node.schema), rows, len(rows), f"SELECT {len(rows)}")

    def _ddl(self, statement: s.Definition | s.Drop) -> Result:
        word = statement.sql.split()[0].upper()
        kind = statement.kind.value if isinstance(statement, s.Drop) else _kind_word(statement)
        with self.scheduler.held(f"{word} {kind}"):
            plan = deployment.plan_statement(statement, self.deployed)
            if plan is None:
                return Result(status=f"{word}_{kind}".replace(" ", "_"), notices=("nothing to do",))
            summary = self._apply(plan)
        created = [c.key for c in plan.changes if c.key in summary.suspended]
        notices = tuple(f"{k} is suspended: {summary.suspended[k]}" for k in created)
        return Result(status=f"{word}_{kind}".replace(" ", "_"), notices=notices)

    def _dml(self, statement: s.Insert | s.Update | s.Delete) -> Result:
        with self.scheduler.held(type(statement).__name__.upper()):
            rows = self._log_dml(statement)
        word = type(statement).__name__.upper()
        return Result(rowcount=rows, status=f"{word} {'0 ' if word == 'INSERT' else ''}{rows}")

    def _log_dml(self, statement: s.Insert | s.Update | s.Delete) -> int:
        """Write the statement's rows, then run the epoch that takes them in."""
        key = qualified(statement.table)
        target = self._object(key, statement)
        reader = self.reader()
        plan = dml.plan_dml(statement, target, reader)
        taken = self.scheduler.log.positions().get(f"dml:{key}", {}).get(dml.PARTITION, 0)
        folder = engine_folder(self.root) / "dml" / f"{key}-{secrets.token_hex(8)}"
        with self.sessions().guarded():
            dml.dml_frame(plan, target, reader, taken).write.parquet(str(folder))
        return self._run_dml(target, folder, taken, statement)

    def _run_dml(
        self, target: AnalysedObject, folder: Path, taken: int, statement: s.Statement
    ) -> int:
        files = [read_footer(path, path.name) for path in sorted(folder.glob("*.parquet"))]
        files = [f for f in files if f.rows]
        nulls = {c: sum(f.nulls.get(c, 0) for f in files) for f in files for c in f.nulls}
        if not isinstance(statement, s.Delete):
            dml.check_rows(nulls, target)
        rows = sum(f.rows for f in files)
        if rows:
            paths = [str(folder / f.path) for f in files]
            self.scheduler.run_once(
                dml=[{"table": target.key, "paths": paths, "rows": rows, "start": taken}]
            )
        moved = isinstance(statement, s.Update) and _changes_key(statement, target)
        return rows // 2 if moved else rows

    def _object(self, key: str, statement: s.Statement) -> AnalysedObject:
        found = self.deployed.pipeline.objects.get(key)
        if found is None:
            self.deployed.catalog.get(key, statement.span)
            raise AssertionError(key)
        return found

    def _resume(self, statement: s.AlterResume) -> Result:
        key = self.find(str(qualified(statement.name))).key
        with self.scheduler.held(f"resuming {key}"):
            self.scheduler.resume(key)
        return Result(status="ALTER_RESUME")

    def find(self, name: str) -> AnalysedObject:
        """Return an object by name: a relation, else a sink of that name."""
        objects = self.deployed.pipeline.objects
        found = objects.get(name) or objects.get(key_of(name, Kind.SINK))
        if found is None:
            self.deployed.catalog.get(name)
            raise AssertionError(name)
        return found

    def explain(self, name: str) -> Explanation:
        """Return the analysed plan of an object, or of a query."""
        pipeline = self.deployed.pipeline
        if name in pipeline.objects or key_of(name, Kind.SINK) in pipeline.objects:
            return explain_object(self.find(name), pipeline)
        statement = parse_statement(name)
        return self._explain_statement(statement)

    def _explain(self, statement: s.Explain) -> str:
        if statement.name is not None:
            found = explain_object(
                self.find(str(qualified(statement.name))), self.deployed.pipeline
            )
        else:
            assert statement.statement is not None
            found = self._explain_statement(statement.statement)
        if statement.format is s.ExplainFormat.JSON:
            return json.dumps(found.as_dict(), indent=2)
        return str(found)

    def _explain_statement(self, statement: s.Statement) -> Explanation:
        pipeline = self.deployed.pipeline
        if isinstance(statement, s.Select):
            views = plain_views(pipeline.objects.values())
            node = build_query(statement.query, pipeline.relations, statement.span, views=views)
            return explain_plan(plan_of(node, on_close=False, statement=statement), pipeline)
        if isinstance(statement, s.Definition):
            plan = deployment.plan_statement(statement, self.deployed)
            assert plan is not None
            created = next(iter(c.key for c in plan.changes if c.action == "create"))
            return explain_object(plan.pipeline[created], plan.pipeline)
        raise NotSupported(
            "E0368",
            "EXPLAIN takes a query, a CREATE statement or a name",
            span=statement.span,
            hint="EXPLAIN SELECT …",
        )

    def _show(self, statement: s.Show | s.Describe) -> Result:
        if isinstance(statement, s.Describe):
            found = self.find(str(qualified(statement.name)))
            rows = tuple((c.name, str(c.type), c.nullable) for c in found.relation.visible)
            return Result(_text_columns("Name", "Type", "Nullable"), rows, len(rows), "DESCRIBE")
        if statement.what == "CREATE":
            assert statement.name is not None
            found = self.find(str(qualified(statement.name)))
            row = (found.name, to_sql(found.object.statement))
            return Result(_text_columns("Name", "Create Sql"), (row,), 1, "SHOW")
        if statement.is_setting:
            value = self._settings.get(statement.what, "")
            return Result(_text_columns(statement.what), ((value,),), 1, "SHOW")
        return self._show_objects(statement.what)

    def _show_objects(self, what: str) -> Result:
        wanted = {
            "TABLES": Kind.TABLE, "SOURCES": Kind.SOURCE, "SINKS": Kind.SINK, "VIEWS": Kind.VIEW,
            "MATERIALIZED VIEWS": Kind.MATERIALIZED_VIEW,
        }.get(what)  # fmt: skip
        objects = self.deployed.pipeline.objects.values()
        rows = tuple((o.name,) for o in objects if wanted is None or o.kind is wanted)
        return Result(_text_columns("Name"), rows, len(rows), "SHOW")

    def _set(self, statement: s.SetOption) -> Result:
        if statement.value is None:
            self._settings.pop(statement.name, None)
        elif statement.name.lower() == "retention":
            retention_of(statement.value, statement.span)
            self._settings["retention"] = statement.value
        else:
            self._settings[statement.name] = statement.value
        return Result(status="SET")

    def changes(self, name: str, after: int | None = None) -> DataFrame:
        """Return what changed in an object after an epoch: `epoch`, `kind`, then its columns.

        Without an epoch, all that is kept; after one whose next is not kept any more, E0413.
        """
        found = self.find(name)
        oldest = self.scheduler.kept.read().oldest
        if after is not None and after + 1 < oldest and not found.append_only:
            raise DataError(
                "E0413",
                f"the changes of {found.name} after epoch {after} are not kept any more",
                hint=f"the oldest epoch that is kept is {oldest}: read {found.name} at epoch "
                f"{oldest} and its changes after that",
            )
        where = "" if after is None else f" WHERE epoch > {int(after)}"
        return self.sql(f'SELECT * FROM "{found.key}__changes"{where}')

    def status(self) -> Mapping[str, ObjectRecord]:
        """Return the newest record of every object, without Spark."""
        return self.scheduler.cut().records

    def has_new(self) -> bool:
        """Tell whether a run would do anything; needs no Spark."""
        return self.scheduler.has_new()


def _changes_key(statement: s.Update, target: AnalysedObject) -> bool:
    names = {c for a in statement.assignments for c in a.columns}
    return bool(names & set(target.relation.stream_key))


def _kind_word(statement: s.Definition) -> str:
    return kind_of(statement).value.upper()


def _columns(schema: Schema) -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(f.name, str(f.type)) for f in schema)


def _text_columns(*names: str) -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(name, "character varying") for name in names)


def _text_result(name: str, text: str) -> Result:
    rows = tuple((line,) for line in text.split("\n"))
    return Result(_text_columns(name), rows, len(rows), "EXPLAIN")
