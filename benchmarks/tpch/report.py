"""What was measured: seconds of epochs and of queries, and their ratios."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.measuring import Timing
from benchmarks.tpch.engine import Took
from benchmarks.tpch.queries import TABLES

AIM_OF_EPOCH, AIM_OF_VIEWS = 4.0, 5.0
"""How many times longer computing anew is to take, of all queries and of the median view."""
Pair = tuple[Timing, Timing]
"""The times in epochs, and those of computing anew."""


@dataclass
class Measure:
    """Refreshes of one kind and share: the changed rows by table, and a time of each repetition.

    `differing` are views that did not hold what their query gives, and how many rows differed.
    """

    kind: str
    share: float
    rows: dict[str, int] = field(default_factory=dict)
    epochs: list[Took] = field(default_factory=list)
    recomputed: list[Took] = field(default_factory=list)
    differing: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return what was done.

        >>> Measure("insert", 0.001).name
        'insert 0.1 %'
        """
        return f"{self.kind} {self.share * 100:g} %"

    @property
    def whole(self) -> Pair:
        """Return the times of the epochs, and of computing all queries."""
        return _timing(t.seconds for t in self.epochs), _timing(t.seconds for t in self.recomputed)

    def of(self, view: str) -> Pair:
        """Return the times of a view in the epochs, and of its query.

        A view that an epoch does not reach takes no time.
        """
        return (
            _timing(took.of.get(view, 0.0) for took in self.epochs),
            _timing(took.of[view] for took in self.recomputed),
        )

    @property
    def intake(self) -> dict[str, Timing]:
        """Return the times of the changed tables in the epochs."""
        keys = {key for took in self.epochs for key in took.of} & set(TABLES)
        return {key: _timing(took.of.get(key, 0.0) for took in self.epochs) for key in sorted(keys)}


@dataclass
class Result:
    """What a run has found of its views, at a scale; `failed` says why others have no times."""

    scale: float
    views: tuple[str, ...]
    failed: dict[str, str] = field(default_factory=dict)
    measures: list[Measure] = field(default_factory=list)
    stored: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By view its bytes, and those of its state."""
    memory: dict[str, int] = field(default_factory=dict)
    """The most bytes that the engine's process and Spark's server have had in memory."""

    def measure(self, kind: str, share: float) -> Measure:
        """Return the measure of a kind and share, a new one the first time."""
        for found in self.measures:
            if (found.kind, found.share) == (kind, share):
                return found
        self.measures.append(Measure(kind, share))
        return self.measures[-1]

    def leave(self, failed: dict[str, str]) -> None:
        """Go on without views that have failed."""
        self.failed |= failed
        self.views = tuple(view for view in self.views if view not in self.failed)

    @property
    def differing(self) -> dict[str, dict[str, int]]:
        """Return the views that differed from their query, by refresh."""
        return {m.name: m.differing for m in self.measures if m.differing}

    @property
    def ratios(self) -> dict[str, dict[str, float]]:
        """Return the ratios by view and refresh."""
        return {
            view: {m.name: r for m in self.measures if (r := ratio(m.of(view))) is not None}
            for view in self.views
        }

    def table(self) -> Table:
        """Return a row per view: seconds in the epoch, of its query, and their ratio."""
        shown = Table(title=f"TPC-H at scale {self.scale:g}: epoch s / computed anew s: ratio")
        first, *others = self._heads
        shown.add_column(first)
        for head in others:
            shown.add_column(head, justify="right")
        for row in self._rows():
            shown.add_row(*row)
        return shown

    def markdown(self) -> str:
        """Return the same table as the README has it."""
        lines = [self._heads, ["---"] * len(self._heads), *self._rows()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    @property
    def _heads(self) -> list[str]:
        return ["view", *(measure.name for measure in self.measures), "view, MB", "state, MB"]

    def _rows(self) -> list[list[str]]:
        rows = [
            [view, *(_cell(m.of(view)) for m in self.measures), *self._sizes((view,))]
            for view in self.views
        ]
        medians = (f"{_number(self._median(m))} (≥ {AIM_OF_VIEWS:g})" for m in self.measures)
        rows.append(["median", *medians, "", ""])
        rows.append(["slowest table", *(self._slowest(m) for m in self.measures), "", ""])
        whole = (f"{_cell(m.whole)} (≥ {AIM_OF_EPOCH:g})" for m in self.measures)
        rows.append(["whole epoch", *whole, *self._sizes(self.views)])
        return rows

    def _sizes(self, views: Iterable[str]) -> list[str]:
        """Return the megabytes of views and of their state."""
        sizes = [self.stored.get(view, (0, 0)) for view in views]
        return [f"{sum(part) / 1e6:,.1f}" for part in zip(*sizes, strict=True)]

    def _slowest(self, measure: Measure) -> str:
        """Return the seconds of the table that takes longest to take its changes in."""
        times = [timing.median for timing in measure.intake.values()]
        return f"{max(times):.2f}" if times else "-"

    def _median(self, measure: Measure) -> float | None:
        """Return the median over views of their ratios."""
        found = [r for view in self.views if (r := ratio(measure.of(view))) is not None]
        return median(found) if found else None

    def as_json(self) -> dict[str, Any]:
        """Return all times and ratios, and why a view has none."""
        return {
            "scale": self.scale,
            "not": self.failed,
            "stored_bytes": {v: {"view": a, "state": b} for v, (a, b) in self.stored.items()},
            "memory_bytes": self.memory,
            "measures": [
                {
                    "refresh": m.name,
                    "rows": m.rows,
                    "differing": m.differing,
                    "whole": _as_json(m.whole),
                    "median_ratio": _rounded(self._median(m)),
                    "views": {view: _as_json(m.of(view)) for view in self.views},
                    "intake": {key: t.as_json() for key, t in m.intake.items()},
                }
                for m in self.measures
            ],
        }


def ratio(times: Pair) -> float | None:
    """Return how many times longer computing anew takes; None where an epoch took no time.

    >>> ratio((Timing((0.5, 0.7, 0.2)), Timing((2.0,))))
    4.0
    """
    ours, anew = times
    return anew.median / ours.median if ours.median else None


def _timing(seconds: Iterable[float]) -> Timing:
    return Timing(tuple(seconds))


def _cell(times: Pair) -> str:
    """Return such as `0.50 / 2.00: 4.0`."""
    ours, anew = times
    return f"{ours.median:.2f} / {anew.median:.2f}: {_number(ratio(times))}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _as_json(times: Pair) -> dict[str, Any]:
    ours, anew = times
    found = {"incremental": ours.as_json(), "recomputed": anew.as_json()}
    return {**found, "ratio": _rounded(ratio(times))}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
