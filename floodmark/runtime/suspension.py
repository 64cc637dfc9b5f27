"""Lifting suspensions: `ALTER … RESUME`, and how to write it."""

from __future__ import annotations

from collections.abc import Collection

from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.catalog.objects import Kind, key_of, qualified
from floodmark.errors import UserError
from floodmark.runtime.backfill.progress import under_way, words
from floodmark.runtime.deployment import Deployed
from floodmark.runtime.results import Result
from floodmark.runtime.run import upstream_of
from floodmark.runtime.scheduler import Scheduler
from floodmark.sql import statements as s
from floodmark.sql.dialect import quote_name


def resume_command(found: AnalysedObject) -> str:
    """Return the statement that lifts an object's suspension."""
    name = ".".join(map(quote_name, found.name.split(".")))
    return f"ALTER {found.kind.value.upper()} {name} RESUME"


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
                f"mend it, then {resume_command(pipeline[cause])}"
            )
    return tuple(out)


def run_resume(statement: s.AlterResume, scheduler: Scheduler) -> Result:
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


def _found(statement: s.AlterResume, deployed: Deployed) -> AnalysedObject:
    name = qualified(statement.name)
    if statement.kind is s.ObjectKind.SINK:
        name = key_of(name, Kind.SINK)
    return deployed.find(name, statement.name.span)


def _causes(key: str, pipeline: Pipeline, scheduler: Scheduler) -> list[str]:
    """Return the suspended objects, upstream of an object, for which it waits."""
    suspended = scheduler.log.suspended()
    above = upstream_of([key], pipeline) - {key}
    return [k for k in pipeline.objects if k in above and k in suspended]


def _check(key: str, pipeline: Pipeline, scheduler: Scheduler, statement: s.AlterResume) -> None:
    causes = _causes(key, pipeline, scheduler)
    again = scheduler.log.suspended().get(key)
    if causes:
        raise UserError(
            "E0383",
            f"{key} waits for {', '.join(causes)}, which is suspended",
            span=statement.name.span,
            hint=f"mend it, then {resume_command(pipeline[causes[0]])}",
        )
    if again is not None:
        raise UserError(
            "E0383",
            f"{key} is suspended again: [{again.code}] {again.message}",
            span=statement.name.span,
            hint=f"mend it, then {resume_command(pipeline[key])}",
        )
