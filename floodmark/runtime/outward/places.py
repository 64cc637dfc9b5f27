"""The paths of sinks: refused before they begin, and tried again once they are out of reach."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.errors import FloodmarkError, UserError
from floodmark.runtime.outward.identity import UNREACHABLE
from floodmark.runtime.outward.sender import sender_of

if TYPE_CHECKING:
    from floodmark.runtime.definitions.deployment import Plan
    from floodmark.runtime.scheduler import Scheduler


def check_places(plan: Plan, scheduler: Scheduler) -> None:
    """Raise where a sink could not write that begins with a plan, or has other columns then.

    E0740 to E0744.
    """
    before = scheduler.deployed().pipeline.objects
    other = [
        c.key for c in plan.changes if c.action == "alter" and _writes_else(c.key, before, plan)
    ]
    for key in (*plan.created, *other):
        found = plan.pipeline[key]
        if found.outside is None:
            continue
        try:
            _check_root(found, scheduler.root)
            sender_of(found, scheduler.seed).check()
        except UserError as problem:
            raise problem.with_span(found.object.statement.name.span) from None


def _writes_else(key: str, before: Mapping[str, AnalysedObject], plan: Plan) -> bool:
    old, new = before[key].outside, plan.pipeline[key].outside
    return old is not None and new is not None and old.written != new.written


def _check_root(found: AnalysedObject, root: Path) -> None:
    assert found.outside is not None
    path = found.outside.path
    if root == path or root in path.parents or path in root.parents:
        raise UserError(
            "E0740",
            f"the sink {found.name} would write into the warehouse {root}",
            hint="choose a folder beside it; CREATE SINK … INTO writes into a table of it",
        )


def reachable(scheduler: Scheduler) -> list[str]:
    """Return the sinks that were out of reach when they last wrote, and are not any more."""
    events = scheduler.log.suspended().items()
    keys = [key for key, event in events if event.code == UNREACHABLE]
    if not keys:
        return []
    objects = scheduler.deployed().pipeline.objects
    return [key for key in keys if key in objects and _can_write(objects[key], scheduler)]


def _can_write(found: AnalysedObject, scheduler: Scheduler) -> bool:
    try:
        sender_of(found, scheduler.seed).check()
    except FloodmarkError:
        return False
    return True


def lift(scheduler: Scheduler) -> bool:
    """End the suspensions of sinks that can write again; tell whether there are any."""
    found = reachable(scheduler)
    for key in found:
        said = "its path can be written to again"
        scheduler.log.record("resume", scheduler.clock.now(), said, object=key)
    return bool(found)
