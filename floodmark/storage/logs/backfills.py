"""The log of one view's backfill: numbered steps, each logged before its work.

`_floodmark/backfills/<view>.<epoch that created it>/` holds `<number>.step.json`, its
`<number>.done.json`, and `ready.json` after the last. A record is put in place once, whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.logs.record_files import RecordFiles, raise_missing, refuse_gaps
from floodmark.storage.objects.contract import Location
from floodmark.storage.warehouse import BACKFILLS, escape

_NUMBERED = re.compile(r"(\d+)\.(step|done)\.json")
_TITLE = "the log of a backfill"


@dataclass(frozen=True, slots=True)
class BackfillStep:
    """A step to `epoch`: of the epochs from `first` on, all at once; of all rows without it.

    `id` is that of its record, which the step's commits have.
    """

    epoch: int
    first: int | None = None
    id: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class BackfillState:
    """The state of a backfill: its steps so far, of which the last may be open, and its last
    record.

    The record has the counts of all steps.
    """

    steps: int = 0
    open: BackfillStep | None = None
    record: ObjectRecord | None = None
    ready: bool = False


class BackfillLog:
    """The log of one backfill: of the view `key`, created in the epoch `created`."""

    def __init__(self, place: Location, key: str, created: int) -> None:
        self._files = RecordFiles(place, f"{BACKFILLS}/{escape(key)}.{created}", _TITLE)

    def standing(self) -> BackfillState:
        """Return the state of the backfill; E0431 if a step is missing."""
        names = self._files.names()
        steps, dones = _counts(names, self._files.place)
        if not steps:
            return BackfillState()
        ready, last = "ready.json" in names, steps - 1
        if dones == steps:
            return BackfillState(steps, None, self._record(last), ready)
        return BackfillState(steps, self._step(last), self._record(last - 1), ready)

    def _step(self, number: int) -> BackfillStep:
        record = self._files.read_record(_name(number, "step"), BackfillStep)
        assert record is not None
        step: BackfillStep = record.body
        return replace(step, id=record.id)

    def _record(self, number: int) -> ObjectRecord | None:
        return self._files.body(_name(number, "done"), ObjectRecord)

    def begin(self, number: int, step: BackfillStep) -> BackfillStep:
        """Log a step before its work, and return the logged step; the first writer wins."""
        data = asdict(step)
        self._files.create(_name(number, "step"), data, id=data.pop("id"))
        return self._step(number)

    def finish(self, number: int, record: ObjectRecord) -> None:
        """Log the result of a step."""
        self._files.create(_name(number, "done"), asdict(record))

    def make_ready(self) -> None:
        """Log that there are no more steps: the next epoch takes the view into the cut."""
        self._files.create("ready.json", {})

    @contextmanager
    def claim(self) -> Iterator[bool]:
        """Claim this backfill for the block; yield False if another process has it."""
        with self._files.lock("worker", wait=False) as mine:
            yield mine


def versions_of_backfills(place: Location) -> Iterator[tuple[str, str, int]]:
    """Yield object, table and version from the last finished steps of all backfills."""
    for files in _logs(place):
        _, dones = _counts(files.names(), files.place)
        record = files.body(_name(dones - 1, "done"), ObjectRecord) if dones else None
        if record is not None:
            yield from ((record.object, table, at) for table, at in record.versions.items())


def check_backfills(place: Location) -> None:
    """Raise E0431 where a backfill has lost the record of a step."""
    for files in _logs(place):
        _counts(files.names(), files.place)


def _logs(place: Location) -> Iterator[RecordFiles]:
    """Yield the records of each backfill."""
    for name in RecordFiles(place, BACKFILLS, _TITLE).folders():
        yield RecordFiles(place, f"{BACKFILLS}/{name}", _TITLE)


def _counts(names: Iterable[str], folder: str) -> tuple[int, int]:
    """Return how many steps there are, and of how many it is known what came of them."""
    matches = [m for name in names if (m := _NUMBERED.fullmatch(name))]
    steps, dones = ([int(m[1]) for m in matches if m[2] == kind] for kind in ("step", "done"))
    refuse_gaps(steps, 0, "step", folder)
    refuse_gaps(dones, 0, "what came of step", folder)
    if len(dones) > len(steps):
        raise_missing(f"step {len(steps)}", "what came of it is there", folder)
    return len(steps), len(dones)


def _name(number: int, kind: str) -> str:
    return f"{number:06d}.{kind}.json"


@contextmanager
def fence(place: Location) -> Iterator[None]:
    """Hold the lock that excludes commits of backfills and removals of their tables."""
    with RecordFiles(place, BACKFILLS, _TITLE).lock("fence"):
        yield


def forget(place: Location, kept: Collection[tuple[str, int]]) -> None:
    """Remove the logs of all backfills but those of some views, each with its creating epoch."""
    names = {f"{escape(key)}.{created}" for key, created in kept}
    for name in RecordFiles(place, BACKFILLS, _TITLE).folders():
        if name not in names:
            RecordFiles(place, "", _TITLE).remove_folder(f"{BACKFILLS}/{name}")
