"""Lifting suspensions: `ALTER … RESUME` and `ALTER SOURCE … REBASE`, and how to write them."""

from __future__ import annotations

from collections.abc import Collection

from floodmark.catalog.alterations import is_nothing
from floodmark.catalog.objects import Kind, key_of, qualified
from floodmark.catalog.splitting import STORED
from floodmark.epochs.backfill.progress import under_way, words
from floodmark.epochs.scheduler import Scheduler
from floodmark.errors import UserError
from floodmark.session.ddl.rehearsal import rehearse
from floodmark.sql import statements as s
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.dependencies import upstream_of
from floodmark.stream.objects.pinned import pins_of
from floodmark.tables.results import Result
from floodmark.warehouse.deployed import Deployed, statements_of
from floodmark.warehouse.suspensions import remedy, resume_command


def notices(keys: Collection[str], scheduler: Scheduler) -> tuple[str, ...]:
    """Return, for each of some objects that is suspended or waits for one, why, and what to do.

    Its rows are those of the last epoch that it has taken in; a view that is backfilling has none.
    """
    suspended = scheduler.log.suspended()
    filling = under_way(scheduler)
    if not suspended and not filling:
        return ()
    pipeline = scheduler.deployed().pipeline
    out = [
        f"{key} is empty until a run has filled it: {words(scheduler, filling[key])}"
        for key in keys
        if key in filling and key not in suspended
    ]
    for key in (k for k in keys if k in pipeline.objects):
        causes = [key] if key in suspended else _causes(key, pipeline, scheduler)
        for cause in causes[:1]:
            event = suspended[cause]
            what = "is suspended" if cause == key else f"waits for {cause}, which is suspended,"
            out.append(
                f"{key} {what} since epoch {event.epoch}: {event.message}; "
                f"{remedy(pipeline[cause], event)}"
            )
    return tuple(out)


def go_on(statement: s.AlterResume | s.AlterRebase, scheduler: Scheduler) -> Result:
    """Execute `ALTER … RESUME` or `ALTER … REBASE`."""
    if is_nothing(statement, scheduler.deployed().catalog):
        status = f"ALTER_{'REBASE' if isinstance(statement, s.AlterRebase) else 'RESUME'}"
        return Result(status=status, notices=("nothing to do",))
    if isinstance(statement, s.AlterRebase):
        return _rebase(statement, scheduler)
    return _resume(statement, scheduler)


def _resume(statement: s.AlterResume, scheduler: Scheduler) -> Result:
    """Lift a suspension in one epoch; E0383 where the object is suspended again, or waits still.

    An object that is not suspended is a notice, and no epoch.
    """
    with scheduler.held("RESUME"):
        pipeline = scheduler.deployed().pipeline
        found = _found(statement, scheduler.deployed())
        key = found.object.target or found.key
        if key in scheduler.log.suspended():
            scheduler.resume(key)
        elif not _causes(key, pipeline, scheduler):
            notice = f"{found.kind.value} {found.name} is not suspended"
            return Result(status="ALTER_RESUME", notices=(notice,))
        _check(key, pipeline, scheduler, statement)
    return Result(status="ALTER_RESUME")


def _rebase(statement: s.AlterRebase, scheduler: Scheduler) -> Result:
    """Pin what the functions of a source mean now, and go on; E0387 where nothing is pinned."""
    with scheduler.held("REBASE"):
        deployed = scheduler.deployed()
        found = _intake(_found(statement, deployed), deployed.pipeline)
        present = pins_of(found, deployed.pipeline)
        if present is None:
            raise UserError(
                "E0387",
                f"{found.kind.value} {found.name} has no TRANSFORM USING",
                span=statement.name.span,
                hint=f"{resume_command(found)} lifts a suspension",
            )
        event = scheduler.log.suspended().get(found.key)
        if event is None and deployed.pinned.get(found.key) == present:
            notice = f"the functions of {found.name} mean what they meant"
            return Result(status="ALTER_REBASE", notices=(notice,))
        pinned = {**deployed.pinned, found.key: present}
        defined = statements_of(deployed.catalog, pinned, deployed.corrected)
        now = scheduler.believed()
        rehearsed = rehearse(scheduler, defined, now, {})
        if event is not None:
            scheduler.log.record("resume", now, "rebased", object=found.key)
        epoch = scheduler.log.head().sealed + 1
        version = scheduler.catalogs.append(epoch, defined, now).version
        scheduler.remember(rehearsed)
        scheduler.run_once(version)
        _check(found.key, deployed.pipeline, scheduler, statement)
    return Result(status="ALTER_REBASE")


def _found(statement: s.Alter, deployed: Deployed) -> AnalysedObject:
    name = qualified(statement.name)
    if statement.kind is s.ObjectKind.SINK:
        name = key_of(name, Kind.SINK)
    return deployed.find(name, statement.name.span)


def _intake(found: AnalysedObject, pipeline: Pipeline) -> AnalysedObject:
    """Return what a split source stores its rows in, for the view that has its name."""
    part, stored = found.object.part, pipeline.objects.get(found.key + STORED)
    return found if part is None or stored is None or stored.object.part != part else stored


def _causes(key: str, pipeline: Pipeline, scheduler: Scheduler) -> list[str]:
    """Return the suspended objects, upstream of an object, for which it waits."""
    suspended = scheduler.log.suspended()
    above = upstream_of([key], pipeline) - {key}
    return [k for k in pipeline.objects if k in above and k in suspended]


def _check(key: str, pipeline: Pipeline, scheduler: Scheduler, statement: s.Alter) -> None:
    causes = _causes(key, pipeline, scheduler)
    again = scheduler.log.suspended().get(key)
    if causes:
        raise UserError(
            "E0383",
            f"{key} waits for {', '.join(causes)}, which is suspended",
            span=statement.name.span,
            hint=remedy(pipeline[causes[0]], scheduler.log.suspended()[causes[0]]),
        )
    if again is not None:
        raise UserError(
            "E0383",
            f"{key} is suspended again: [{again.code}] {again.message}",
            span=statement.name.span,
            hint=remedy(pipeline[key], again),
        )
