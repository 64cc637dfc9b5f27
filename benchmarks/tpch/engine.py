"""The engine: one warehouse with all views, its epochs, and the same queries computed anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import floodmark
from benchmarks.measuring import timed
from benchmarks.tpch.queries import NAMES, definition, query, schema
from floodmark.limits import LIMITS
from floodmark.session.inspect.sizes import total
from floodmark.spark.session import Sessions
from floodmark.tools.equivalence import compare

AT_ONCE = 6
"""So many views are compared in one query."""


@dataclass(frozen=True)
class Took:
    """The seconds of an epoch, or of computing all queries, and those of each object or query."""

    seconds: float
    of: dict[str, float]


@dataclass
class Views:
    """The tables and the views over them, in a warehouse; `failed` says why it left some."""

    fm: Any
    names: tuple[str, ...]
    failed: dict[str, str] = field(default_factory=dict)

    def epoch(self) -> Took:
        """Take in what has come, in one epoch.

        Raises RuntimeError where nothing has come, or a table was suspended.
        """
        started = time.perf_counter()
        summaries = self.fm.advance(max_epochs=1)
        seconds = time.perf_counter() - started
        if not summaries:
            raise RuntimeError("no row was changed: the share is too small for so few rows")
        (summary,) = summaries
        self.leave_suspended()
        return Took(seconds, {r.object: r.duration_s for r in summary.changes})

    def leave_suspended(self) -> None:
        """Go on without the views that were suspended."""
        for key, event in self.fm.warehouse.log.suspensions().items():
            if key not in NAMES:
                raise RuntimeError(f"{key}: {event.message}")
            self.failed[key] = f"{event.code}: {event.message}"
        self.names = tuple(name for name in self.names if name not in self.failed)

    def recompute(self) -> Took:
        """Compute all queries at the present cut, as many at once as an epoch advances objects.

        The rows go nowhere (Spark's noop): no other side is charged for storing them.
        """

        def run(rows: Any) -> float:
            return timed(rows.write.format("noop").mode("overwrite").save)

        started = time.perf_counter()
        planned, running = {}, {}
        with ThreadPoolExecutor(LIMITS.object_threads) as pool:
            for name in self.names:
                begun = time.perf_counter()
                rows = self.fm.sql(query(name))
                planned[name] = time.perf_counter() - begun
                running[name] = pool.submit(run, rows)
        seconds = time.perf_counter() - started
        return Took(seconds, {n: planned[n] + running[n].result() for n in self.names})

    def stored(self) -> dict[str, tuple[int, int]]:
        """Return the bytes of each view and those of its operators' state."""
        found = {name: self.fm.sizes(name) for name in self.names}
        return {
            name: (total(sizes, state=False)[1] or 0, total(sizes, state=True)[1] or 0)
            for name, sizes in found.items()
        }

    def differing(self) -> dict[str, int]:
        """Return the views that do not hold what their queries give, and how many rows differ."""
        names = self.names
        chunks = (names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE))
        found = {name: d.rows for chunk in chunks for name, d in compare(self.fm, chunk).items()}
        return {name: rows for name, rows in found.items() if rows}


@contextmanager
def views(lake: Path, root: Path, names: Sequence[str], sessions: Sessions) -> Iterator[Views]:
    """Yield a warehouse that has taken in the lake and filled the views."""
    with floodmark.connect(root / "warehouse", sessions=lambda: sessions) as fm:
        _deploy(fm, root / "pipelines", "tables", schema(lake))
        fm.advance()
        _deploy(fm, root / "pipelines", "views", "\n".join(map(definition, names)))
        fm.advance()
        found = Views(fm, tuple(names))
        found.leave_suspended()
        yield found


def _deploy(fm: Any, pipelines: Path, name: str, text: str) -> None:
    """Create objects, all in one epoch."""
    pipelines.mkdir(exist_ok=True)
    (pipelines / f"{name}.sql").write_text(text, encoding="utf-8")
    fm.deploy(pipelines)
