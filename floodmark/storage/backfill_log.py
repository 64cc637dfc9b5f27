"""How far the backfill of one view has come: numbered steps, each logged before its work.

`_floodmark/backfills/<view>.<epoch that created it>/` holds `<number>.step.json`, its
`<number>.done.json`, and `ready.json` after the last. A record is put in place once, whole.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.local_files import disk_errors, put_if_absent
from floodmark.storage.locks import exclusive, exclusive_if_free
from floodmark.storage.records import read_record, to_text
from floodmark.storage.warehouse import BACKFILLS, engine_folder, escape

_STEP = re.compile(r"(\d+)\.step\.json")


@dataclass(frozen=True, slots=True)
class Step:
    """A step to `epoch`: of the epochs from `first` on, all at once; of all rows without it."""

    epoch: int
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a backfill stands: its steps so far, one of which may be open, and its last record."""

    steps: int = 0
    open: Step | None = None
    record: ObjectRecord | None = None
    ready: bool = False


class BackfillLog:
    """The log of one backfill: of the view `key`, created in the epoch `created`."""

    def __init__(self, root: str | Path, key: str, created: int) -> None:
        self._folder = _home(root) / f"{escape(key)}.{created}"

    def standing(self) -> Standing:
        """Return where the backfill stands."""
        names = os.listdir(self._folder) if self._folder.is_dir() else []
        steps = len([name for name in names if _STEP.fullmatch(name)])
        if not steps:
            return Standing()
        ready = "ready.json" in names
        done = self._record(steps - 1)
        if done is not None:
            return Standing(steps, None, done, ready)
        step = Step(**read_record(self._path(steps - 1, "step")))
        return Standing(steps, step, self._record(steps - 2), ready)

    def _record(self, number: int) -> ObjectRecord | None:
        data = read_record(self._path(number, "done"))
        return None if data is None else ObjectRecord(**data)

    def begin(self, number: int, step: Step) -> None:
        """Log a step before its work; one that is logged stays as it is."""
        with disk_errors("the log of a backfill"):
            self._folder.mkdir(parents=True, exist_ok=True)
            put_if_absent(self._path(number, "step"), to_text(asdict(step)))

    def done(self, number: int, record: ObjectRecord) -> None:
        """Log what came of a step."""
        with disk_errors("the log of a backfill"):
            put_if_absent(self._path(number, "done"), to_text(asdict(record)))

    def make_ready(self) -> None:
        """Log that there are no more steps: the next epoch takes the view into the cut."""
        with disk_errors("the log of a backfill"):
            put_if_absent(self._folder / "ready.json", to_text({}))

    @contextmanager
    def worked_on(self) -> Iterator[bool]:
        """Be the one who works on this backfill, or give False; a dead process lets go of it."""
        with disk_errors("the log of a backfill"):
            self._folder.mkdir(parents=True, exist_ok=True)
        with exclusive_if_free(self._folder / "worker") as mine:
            yield mine

    def _path(self, number: int, kind: str) -> Path:
        return self._folder / f"{number:06d}.{kind}.json"


@contextmanager
def fence(root: str | Path) -> Iterator[None]:
    """Hold what the commits of backfills and the removal of their tables take turns at."""
    with disk_errors("the log of a backfill"):
        _home(root).mkdir(parents=True, exist_ok=True)
    with exclusive(_home(root) / "fence"):
        yield


def forget(root: str | Path, kept: Collection[tuple[str, int]]) -> None:
    """Remove the logs of all backfills but those of some views, each with its creating epoch."""
    if _home(root).is_dir():
        names = {f"{escape(key)}.{created}" for key, created in kept}
        for folder in _home(root).iterdir():
            if folder.is_dir() and folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)


def _home(root: str | Path) -> Path:
    return engine_folder(root) / BACKFILLS
