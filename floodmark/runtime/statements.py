"""Statements that are an epoch of their own: CREATE and DROP, INSERT, UPDATE and DELETE."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.catalog.catalog import unknown_object
from floodmark.catalog.objects import kind_of, qualified
from floodmark.errors import DataError, NotSupported, UserError
from floodmark.runtime import deployment, dml
from floodmark.runtime.deployment import Change, Deployed, Plan
from floodmark.runtime.layout import tables_of
from floodmark.runtime.logged import Begun, telling
from floodmark.runtime.offers import connector_of
from floodmark.runtime.query import Reader
from floodmark.runtime.results import Result
from floodmark.runtime.scheduler import Scheduler
from floodmark.runtime.summary import EpochSummary
from floodmark.runtime.suspension import notices
from floodmark.sql import statements as s
from floodmark.storage.backfill_log import fence
from floodmark.storage.epoch_log import dml_of
from floodmark.storage.statistics import read_footer
from floodmark.storage.warehouse import engine_folder

Dml = s.Insert | s.Update | s.Delete


def run_ddl(statement: s.Definition | s.Drop, scheduler: Scheduler) -> Result:
    """Create or drop an object in one epoch; a new one that fails at once is a notice."""
    word = statement.sql.split()[0].upper()
    kind = _kind(statement)
    status = f"{word}_{kind}".replace(" ", "_")
    with telling(f"{word} {kind}", scheduler) as begun, scheduler.held(f"{word} {kind}"):
        plan = deployment.plan_statement(statement, scheduler.deployed())
        if plan is None:
            return Result(status=status, notices=("nothing to do",))
        apply_plan(plan, scheduler, begun)
    return Result(status=status, notices=notices(plan.created, scheduler))


def _kind(statement: s.Definition | s.Drop) -> str:
    if isinstance(statement, s.Drop):
        return statement.kind.value
    return kind_of(statement).value.upper()


def apply_plan(
    plan: Plan, scheduler: Scheduler, begun: Begun, *, discard_rows: bool = False
) -> EpochSummary:
    """Log a catalog version and run the epoch from which it is in force; the lease is held.

    `begun` is told the version. E0379 where a table would begin anew without the rows that
    statements wrote into it, unless `discard_rows`; a source that begins anew has to be readable.
    """
    deployed = scheduler.deployed()
    _ask_again(plan)
    if not discard_rows:
        _refuse_loss(plan, scheduler)
    epoch = scheduler.log.head().sealed + 1
    defined = deployment.statements_of(plan.catalog, plan.pinned(deployed))
    version = scheduler.catalogs.append(epoch, defined, scheduler.clock.now())
    begun.version = version.version
    summary = scheduler.run_once(version.version)
    for change in plan.changes:
        if change.action == "drop":
            with fence(scheduler.root):
                for table in tables_of(deployed.pipeline[change.key], scheduler.store):
                    scheduler.store.drop(table)
    return summary


def _ask_again(plan: Plan) -> None:
    """Let a source that begins anew say what it has before its stored rows go."""
    for change in plan.changes:
        found = plan.pipeline.objects.get(change.key)
        if change.action != "rebuild" or found is None or found.declared is None:
            continue
        if found.declared.connector is not None:
            try:
                connector_of(found).offer({}, 1)
            except UserError as problem:
                raise problem.with_span(found.object.statement.name.span) from None


def _refuse_loss(plan: Plan, scheduler: Scheduler) -> None:
    positions = scheduler.log.positions()
    for change in plan.changes:
        rows = positions.get(dml_of(change.key), {}).get(0, 0)
        if change.action == "rebuild" and rows:
            raise NotSupported(
                "E0379",
                f"{change.key} begins anew, because {change.reason}: what {rows} "
                "changes by statements wrote into it would be lost",
                span=plan.pipeline[change.key].object.statement.span,
                hint="keep the definition; or copy the rows (SELECT), apply with --discard-rows, "
                "and INSERT them again",
            )
        if change.action == "rebuild" and (gone := _lost(change, plan, scheduler)):
            raise NotSupported(
                "E0379",
                f"{change.key} begins anew, because {change.reason}, and cannot take in again all "
                f"that it has: {gone}",
                span=plan.pipeline[change.key].object.statement.span,
                hint="put the files back; or apply with --discard-rows",
            )


def _lost(change: Change, plan: Plan, scheduler: Scheduler) -> str | None:
    """Say what a source has taken in and would not find again; None where that is nothing."""
    found = plan.pipeline[change.key]
    if found.declared is None or found.declared.connector is None:
        return None
    taken = scheduler.offers.logged().get(change.key, ())
    before = scheduler.deployed().pipeline[change.key].declared
    if taken and before is not None and before.connector != found.declared.connector:
        return f"its rows came from {before.connector}"
    return connector_of(found).changed(taken)


def run_dml(statement: Dml, scheduler: Scheduler, reader: Callable[[], Reader]) -> Result:
    """Change rows of a table in one epoch; `reader` is called when the lease is held."""
    word = type(statement).__name__.upper()
    with telling(word, scheduler) as begun, scheduler.held(word):
        target = _target(statement, scheduler.deployed())
        folder, taken = _write_rows(statement, target, scheduler, reader())
        rows, epoch = _take_in(statement, target, folder, taken, scheduler, begun)
    status = f"{word} {'0 ' if word == 'INSERT' else ''}{rows}"
    events = scheduler.log.suspended().items()
    failed = [key for key, event in events if event.epoch == epoch and key != target.key]
    return Result(rowcount=rows, status=status, notices=notices([target.key, *failed], scheduler))


def _target(statement: Dml, deployed: Deployed) -> AnalysedObject:
    key, objects = qualified(statement.table), deployed.pipeline.objects
    if key not in objects:
        raise unknown_object(key, objects, statement.table.span)
    return objects[key]


def _write_rows(
    statement: Dml, target: AnalysedObject, scheduler: Scheduler, reader: Reader
) -> tuple[Path, int]:
    """Write the rows that a statement results in; return where, and how many came before them."""
    plan = dml.plan_dml(statement, target, reader)
    positions = scheduler.log.positions()
    taken = positions.get(dml_of(target.key), {}).get(0, 0)
    folder = engine_folder(scheduler.root) / "dml" / f"{target.key}-{secrets.token_hex(8)}"
    try:
        with scheduler.sessions().guarded():
            dml.dml_frame(plan, target, reader, taken).write.parquet(str(folder))
    except DataError as refused:
        refused.with_span(statement.span)
        raise
    return folder, taken


def _take_in(
    statement: Dml,
    target: AnalysedObject,
    folder: Path,
    taken: int,
    scheduler: Scheduler,
    begun: Begun,
) -> tuple[int, int | None]:
    """Run the epoch that takes written rows in, if there are any.

    Return how many rows the statement changed, and the epoch. `begun` is told the rows' files.
    """
    files = [read_footer(path, path.name) for path in sorted(folder.glob("*.parquet"))]
    files = [f for f in files if f.rows]
    nulls = {c: sum(f.nulls.get(c, 0) for f in files) for f in files for c in f.nulls}
    paths = [str(folder / f.path) for f in files]
    if not isinstance(statement, s.Delete):
        dml.check_rows(nulls | dml.nested_nulls(paths, target), target, statement.span)
    rows, epoch = sum(f.rows for f in files), None
    if rows:
        entry = {"table": target.key, "paths": paths, "rows": rows, "start": taken}
        begun.paths = paths
        epoch = scheduler.run_once(dml=[entry]).epoch
    moved = isinstance(statement, s.Update) and dml.moves_key(statement, target)
    return rows // 2 if moved else rows, epoch
