"""What follows from a statement, in a form in which two statements can be compared.

Texts and places are left out: two statements that differ in nothing else mean the same.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from floodmark.catalog.alterations import find_object, is_nothing
from floodmark.catalog.option_table import FORCED, KEEPING
from floodmark.connectors.copy.file import copy_file
from floodmark.errors import FloodmarkError
from floodmark.limits import LIMITS
from floodmark.plan.declare.functions import functions_of
from floodmark.query.dml.copying import CopySource
from floodmark.query.dml.plan_dml import PlannedDml, plan_dml
from floodmark.query.dml.writing import target_of
from floodmark.query.query import Reader
from floodmark.session.ddl.deployment import DeploymentPlan, plan_statement
from floodmark.session.show import explain_result, explain_statement, show
from floodmark.sql import statements as s
from floodmark.sql.hints import hints_of
from floodmark.sql.parse import parse_statement
from floodmark.stream.ndu import mode_of
from floodmark.stream.objects.analysed import BACKFILL, AnalysedObject
from floodmark.stream.objects.owners import ON_DELETE
from floodmark.stream.objects.snapshot import SNAPSHOT
from floodmark.tables.cut import Cut
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.settings import Settings

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_AT_RUN_TIME = (FORCED, KEEPING, BACKFILL, SNAPSHOT, ON_DELETE, "type")
"""Options of sinks and views that are read while they run."""
_UNREAD_TABLES: Any = SimpleNamespace(spark=None, limits=LIMITS)


def observed(text: str, deployed: Deployed, folder: Path) -> Any:
    """Return what a statement would do, or the code and the message of its error."""
    try:
        statement = parse_statement(text)
        return _seen(statement, deployed, folder), hints_of(statement), None
    except FloodmarkError as error:
        return error.code, error.message, error.hint


def is_error(seen: Any) -> bool:
    """Tell whether what was observed is an error."""
    return str(seen[0]).startswith("E0")


def _seen(statement: s.Statement, deployed: Deployed, folder: Path) -> Any:
    reader = Reader(_UNREAD_TABLES, deployed.pipeline, Cut(), _NOW, {})
    match statement:
        case s.Begin() | s.Commit() | s.Rollback() | s.Flush():
            return type(statement).__name__
        case s.AlterResume() | s.AlterRebase():
            nothing = is_nothing(statement, deployed.catalog)
            return "nothing to do" if nothing else find_object(statement, deployed.catalog).key
        case s.Definition() | s.Drop() | s.Alter():
            plan = plan_statement(statement, deployed)
            if plan is None:
                return "nothing to do"
            rows = None
            if isinstance(statement, s.CreateTableAs):
                rows = repr(reader.plan(statement.query, statement.span))
            return _changed(plan, deployed), rows, None
        case s.Select():
            return "rows", repr(reader.plan(statement.query, statement.span)), None
        case s.CopyTo():
            file = copy_file(statement.path, statement.options, statement.span, limits=LIMITS)
            return file_of(file), repr(reader.plan(statement.query, statement.span)), None
        case s.CopyFrom():
            copying = CopySource.from_statement(statement, target_of(statement, deployed), reader)
            rows = [piece.to_pylist() for piece in copying.rows()]
            return file_of(copying.file), copying.target.key, (rows, sorted(copying.given))
        case s.Insert() | s.Update() | s.Delete():
            return _written(plan_dml(statement, target_of(statement, deployed), reader))
        case s.Explain():
            measured: list[str] = []
            lines = explain_result(
                statement, deployed, lambda key: measured.append(key) or (), explain_statement
            )
            return lines, measured, None
        case s.Show() | s.Describe():
            return show(statement, deployed, Settings(limits=LIMITS).values)
        case s.SetOption():
            settings = Settings(limits=LIMITS)
            return settings.set(statement), settings.values, None
    raise AssertionError(statement)


def file_of(file: Any) -> tuple[Any, ...]:
    """Return what is known of the file of a COPY, its place in the text aside."""
    return file.path, file.format, file.header, file.delimiter, file.null


def _written(plan: PlannedDml) -> Any:
    return repr(plan.node), plan.effect, repr(plan.returning)


def _changed(plan: DeploymentPlan, deployed: Deployed) -> Any:
    before = deployed.pipeline.objects
    kept = [(c.key, c.action, c.reason) for c in plan.changes]
    objects = {k: _object(o) for k, o in plan.pipeline.objects.items() if o is not before.get(k)}
    catalog = {k: (o.reads, o.target, o.past) for k, o in plan.catalog.objects.items()}
    functions = functions_of(plan.catalog.objects.values())
    return kept, objects, catalog, repr(functions), sorted(plan.renamed.items())


def _object(found: AnalysedObject) -> Any:
    declared, of = found.declared, found.object
    return (
        repr(found.relation),
        None if found.plan is None else repr(found.plan.root),
        repr(declared),
        None if declared is None else (declared.harmless_options, declared.resolved),
        found.feeders,
        found.notes,
        repr(found.split),
        repr(found.external_sink),
        found.writes,
        repr(found.owners),
        (found.emits_on_close, found.refreshes, mode_of(of)),
        [of.option(name) for name in _AT_RUN_TIME],
        (of.name, of.target, of.part and of.part.group, of.sees, of.past, of.resolved),
    )
