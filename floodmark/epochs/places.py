"""The paths of sinks: refused before they begin, and tried again once they are out of reach."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from floodmark.epochs.sinks.identity import probe
from floodmark.epochs.sinks.sender import sender_of
from floodmark.errors import FloodmarkError, UserError
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.suspensions import UNREACHABLE

_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(hours=1)

if TYPE_CHECKING:
    from floodmark.epochs.scheduler import Scheduler
    from floodmark.session.ddl.deployment import Plan


def check_places(plan: Plan, scheduler: Scheduler) -> None:
    """Raise where a sink could not write that begins with a plan, or has other columns then.

    E0740 to E0744. Nothing is written: what only a write shows, `probe_places` shows.
    """
    for found in _beginning(plan, scheduler):
        with _at_its_name(found):
            _check_root(found, scheduler.root)
            sender_of(found, scheduler.seed).check()


def probe_places(plan: Plan, scheduler: Scheduler) -> None:
    """Raise E0741 where the path of such a sink takes no bytes now, such as on a full disk."""
    for found in _beginning(plan, scheduler):
        assert found.outside is not None
        with _at_its_name(found):
            probe(found.name, found.outside.path)


def _beginning(plan: Plan, scheduler: Scheduler) -> Iterator[AnalysedObject]:
    before = scheduler.deployed().pipeline.objects
    other = [
        c.key for c in plan.changes if c.action == "alter" and _writes_else(c.key, before, plan)
    ]
    for key in (*plan.created, *other):
        if plan.pipeline[key].outside is not None:
            yield plan.pipeline[key]


@contextmanager
def _at_its_name(found: AnalysedObject) -> Iterator[None]:
    try:
        yield
    except UserError as problem:
        raise problem.with_span(found.object.statement.name.span) from None


def _writes_else(key: str, before: Mapping[str, AnalysedObject], plan: Plan) -> bool:
    old = before[key].outside if key in before else None
    new = plan.pipeline[key].outside
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


def unreachable(scheduler: Scheduler) -> frozenset[str]:
    """Return the sinks that were out of reach when they last wrote."""
    events = scheduler.log.suspended().items()
    return frozenset(key for key, event in events if event.code == UNREACHABLE)


def pause_after(tries: int) -> timedelta:
    """Return how long a sink rests that has failed so many times in a row.

    >>> [pause_after(tries).seconds for tries in (1, 2, 3, 4, 20)]
    [0, 30, 60, 120, 3600]
    """
    if tries < 2:
        return timedelta(0)
    return min(_FIRST_PAUSE * (1 << min(tries - 2, 16)), _LONGEST_PAUSE)


def reachable(scheduler: Scheduler, keys: frozenset[str] | None = None) -> list[str]:
    """Return the sinks, of `keys` or all, that were out of reach and seem not to be any more.

    One that this process has tried in vain, or any without `keys`, rests for a while before. Those
    of `keys` are written to; without, nothing is written.
    """
    now, out = scheduler.clock.now(), []
    for key, event in scheduler.log.suspended().items():
        if event.code != UNREACHABLE or (keys is not None and key not in keys):
            continue
        rests = keys is None or key in scheduler.tried
        if not rests or now >= event.at + pause_after(event.tries):
            out.append(key)
    if not out:
        return []
    objects = scheduler.deployed().pipeline.objects
    writes = keys is not None
    return [k for k in sorted(out) if k in objects and _can_write(objects[k], scheduler, writes)]


def _can_write(found: AnalysedObject, scheduler: Scheduler, writes: bool) -> bool:
    assert found.outside is not None
    try:
        sender_of(found, scheduler.seed).check()
        if writes:
            probe(found.name, found.outside.path)
    except FloodmarkError:
        return False
    return True


def lift(scheduler: Scheduler, keys: Collection[str]) -> bool:
    """End the suspensions of some sinks that can write again; tell whether there are any."""
    found = reachable(scheduler, frozenset(keys))
    scheduler.tried.update(found)
    for key in found:
        said = "its path can be written to again"
        scheduler.log.record("resume", scheduler.clock.now(), said, object=key)
    return bool(found)
