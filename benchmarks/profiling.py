"""Where an epoch's time goes: wrappers around the engine's steps, in the benchmark only."""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from floodmark.dataflow.state import groups
from floodmark.epochs import loop, run
from floodmark.epochs.objects import apply_changelog
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.files import rewrite
from floodmark.storage.lease.local import LocalLease
from floodmark.storage.logs.epochs import EpochLog
from floodmark.tables import cut
from floodmark.tables.tables import Tables, Writer

STEPS: tuple[tuple[Any, Callable[..., Any], str], ...] = (
    (loop.EpochLoop, loop.EpochLoop._new_splits, "offer"),
    (LocalLease, LocalLease._try_hold, "lease"),
    (EpochLog, EpochLog.open, "log: open"),
    (EpochLog, EpochLog.seal, "log: seal"),
    (EpochLog, EpochLog.head, "log: head"),
    (EpochLog, EpochLog.epochs, "log: epochs"),
    (EpochLog, EpochLog.positions, "log: positions"),
    (cut.Cut, cut.Cut.settle, "settled versions"),
    (loop, loop.maintain_tables, "after seal"),
    (run, run.advance_object, "advance"),
    (Tables, Tables.read, "plan: read"),
    (Tables, Tables.read_paths, "plan: read"),
    (Writer, Writer.write, "write"),
    (Writer, Writer.write_routed, "write"),
    (DeltaStore, DeltaStore.open, "store: open"),
    (DeltaStore, DeltaStore.commit, "store: commit"),
    (apply_changelog.ObjectRows, apply_changelog.ObjectRows.apply_changelog, "rows at rest"),
    (apply_changelog, apply_changelog.files_with_keys, "touched files"),
    (rewrite, rewrite.rewrite, "rewrite here"),
    (groups, groups.files_with_keys, "touched files"),
)
"""What is wrapped: the owner, its function, the step that its time counts for. Steps nest."""


class Profile:
    """Seconds and calls by object, step and epoch."""

    def __init__(self) -> None:
        self.current = 0
        self.spent: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._thread = threading.local()

    def wrap(self, function: Callable[..., Any], step: str) -> Callable[..., Any]:
        """Return the function with its time taken."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if step == "advance":
                self._thread.object = args[0].name
            label = self._label(step, args)
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                who = getattr(self._thread, "object", "(epoch)")
                self.spent[who, label][self.current].append(time.perf_counter() - started)
                if step == "advance":
                    del self._thread.object

        return call

    def _label(self, step: str, args: tuple[Any, ...]) -> str:
        return f"write {args[1]}" if step == "write" else step

    def lines(self) -> list[tuple[str, str, float, float]]:
        """Return object, step, calls per epoch and the median of milliseconds per epoch."""
        out = []
        for (who, step), epochs in self.spent.items():
            per_epoch = [sum(epochs.get(e, ())) for e in range(1, self.current + 1)]
            calls = sum(map(len, epochs.values())) / max(1, self.current)
            out.append((who, step, calls, 1000 * statistics.median(per_epoch)))
        return sorted(out, key=lambda line: (line[0], -line[3]))


@contextmanager
def profiled() -> Iterator[Profile]:
    """Take the time of the engine's steps within the block; count epochs in `current`."""
    profile = Profile()
    with ExitStack() as stack:
        for owner, function, step in STEPS:
            wrapped = profile.wrap(function, step)
            stack.enter_context(patch.object(owner, function.__name__, wrapped))
        yield profile
