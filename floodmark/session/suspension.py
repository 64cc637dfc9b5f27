"""Ends of suspensions: `ALTER … RESUME` and `ALTER SOURCE … REBASE`, and hints for them."""

from __future__ import annotations

from collections.abc import Collection

from floodmark.catalog.alterations import is_nothing
from floodmark.catalog.objects import ObjectKind, catalog_name, key_of
from floodmark.catalog.splitting import STORED
from floodmark.epochs.backfill.progress import running_backfills, words
from floodmark.epochs.loop import EpochLoop
from floodmark.errors import UserError
from floodmark.session.ddl.rehearsal import rehearse
from floodmark.sql import statements as s
from floodmark.storage.logs.epochs import Event
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.dependencies import upstream_of
from floodmark.stream.objects.pinned import pins_of
from floodmark.tables.results import Result
from floodmark.warehouse.deployed import Deployed, statements_of
from floodmark.warehouse.refusal_events import is_refusal
from floodmark.warehouse.suspensions import remedy, resume_command
from floodmark.warehouse.warehouse import Warehouse


def notices(keys: Collection[str], warehouse: Warehouse) -> tuple[str, ...]:
    """Return a notice with reason and remedy for each object that is suspended or waits for one.

    Its rows are as of the last epoch that it took in; a view that is backfilling has none.
    """
    suspended = warehouse.suspensions()
    filling = running_backfills(warehouse)
    if not suspended and not filling:
        return ()
    pipeline = warehouse.deployed().pipeline
    out = [
        f"{key} is empty until a run has filled it: {words(warehouse, filling[key])}"
        for key in keys
        if key in filling and key not in suspended
    ]
    for key in (k for k in keys if k in pipeline.objects):
        causes = [key] if key in suspended else _causes(key, pipeline, warehouse)
        for cause in causes[:1]:
            event = suspended[cause]
            what = "is suspended" if cause == key else f"waits for {cause}, which is suspended,"
            out.append(
                f"{key} {what} since epoch {event.epoch}: {event.message}; "
                f"{remedy(pipeline[cause], event)}"
            )
    return tuple(out)


def execute_resume(statement: s.AlterResume | s.AlterRebase, loop: EpochLoop) -> Result:
    """Execute `ALTER … RESUME` or `ALTER … REBASE`."""
    if is_nothing(statement, loop.warehouse.deployed().catalog):
        status = f"ALTER_{'REBASE' if isinstance(statement, s.AlterRebase) else 'RESUME'}"
        return Result(status=status, notices=("nothing to do",))
    if isinstance(statement, s.AlterRebase):
        return _rebase(statement, loop)
    return _resume(statement, loop)


def _resume(statement: s.AlterResume, loop: EpochLoop) -> Result:
    """Lift a suspension in one epoch; E0383 where the object is suspended again, or waits still.

    An object that is not suspended is a notice, and no epoch.
    """
    warehouse = loop.warehouse
    with loop.hold("RESUME"):
        pipeline = warehouse.deployed().pipeline
        obj = _find_object(statement, warehouse.deployed())
        key = obj.object.target or obj.key
        event = _find_suspension(obj, warehouse, statement)
        if event is not None:
            loop.resume(key)
        elif not _causes(key, pipeline, warehouse):
            notice = f"{obj.kind.value} {obj.name} is not suspended"
            return Result(status="ALTER_RESUME", notices=(notice,))
        _check(key, pipeline, warehouse, statement)
    return Result(status="ALTER_RESUME")


def _find_suspension(obj: AnalysedObject, warehouse: Warehouse, statement: s.Alter) -> Event | None:
    """Return the suspension that a statement is to lift; raise the refusal of a definition.

    What is logged beside a refusal is lifted: else nothing would, once the definition is mended.
    """
    key = obj.object.target or obj.key
    event = warehouse.suspensions().get(key)
    if event is None or not is_refusal(event):
        return event
    if key in warehouse.log.suspensions():
        now = warehouse.clock.now()
        warehouse.log.record("resume", now, "its definition is refused", object=key)
    raise UserError(
        event.code or "E0383", event.message, span=statement.name.span, hint=remedy(obj, event)
    )


def _rebase(statement: s.AlterRebase, loop: EpochLoop) -> Result:
    """Pin what the functions of a source mean now, and go on; E0387 where nothing is pinned."""
    warehouse = loop.warehouse
    with loop.hold("REBASE"):
        deployed = warehouse.deployed()
        obj = _intake(_find_object(statement, deployed), deployed.pipeline)
        present = pins_of(obj, deployed.pipeline)
        if present is None:
            raise UserError(
                "E0387",
                f"{obj.kind.value} {obj.name} has no TRANSFORM USING",
                span=statement.name.span,
                hint=f"{resume_command(obj)} lifts a suspension",
            )
        event = _find_suspension(obj, warehouse, statement)
        if event is None and deployed.pinned.get(obj.key) == present:
            notice = f"the functions of {obj.name} mean what they meant"
            return Result(status="ALTER_REBASE", notices=(notice,))
        pinned = {**deployed.pinned, obj.key: present}
        defined = statements_of(deployed.catalog, pinned, deployed.corrected)
        now = warehouse.epoch_time()
        rehearsed = rehearse(warehouse, defined, now, {})
        if event is not None:
            warehouse.log.record("resume", now, "rebased", object=obj.key)
        epoch = warehouse.log.head().sealed + 1
        version = warehouse.catalogs.append(epoch, defined, now).version
        warehouse.remember(rehearsed)
        loop.run_once(version)
        _check(obj.key, deployed.pipeline, warehouse, statement)
    return Result(status="ALTER_REBASE")


def _find_object(statement: s.Alter, deployed: Deployed) -> AnalysedObject:
    name = catalog_name(statement.name)
    if statement.kind is s.KindWord.SINK:
        name = key_of(name, ObjectKind.SINK)
    return deployed.find(name, statement.name.span)


def _intake(obj: AnalysedObject, pipeline: Pipeline) -> AnalysedObject:
    """Return the object that stores a split source's rows, for the view that has its name."""
    part, stored = obj.object.part, pipeline.objects.get(obj.key + STORED)
    return obj if part is None or stored is None or stored.object.part != part else stored


def _causes(key: str, pipeline: Pipeline, warehouse: Warehouse) -> list[str]:
    """Return the suspended objects, upstream of an object, for which it waits."""
    suspended = warehouse.suspensions()
    above = upstream_of([key], pipeline) - {key}
    return [k for k in pipeline.objects if k in above and k in suspended]


def _check(key: str, pipeline: Pipeline, warehouse: Warehouse, statement: s.Alter) -> None:
    causes = _causes(key, pipeline, warehouse)
    again = warehouse.suspensions().get(key)
    if causes:
        raise UserError(
            "E0383",
            f"{key} waits for {', '.join(causes)}, which is suspended",
            span=statement.name.span,
            hint=remedy(pipeline[causes[0]], warehouse.suspensions()[causes[0]]),
        )
    if again is not None:
        raise UserError(
            "E0383",
            f"{key} is suspended again: [{again.code}] {again.message}",
            span=statement.name.span,
            hint=remedy(pipeline[key], again),
        )
