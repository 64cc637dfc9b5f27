"""The table of rates and ratios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measuring import Timing, print_memory
from benchmarks.nexmark.queries import ON_CLOSE, keeps_state

Measured = Mapping[str, Mapping[str, Timing | str]]
"""By query and system: the seconds, or why there are none."""
RATIOS = (
    ("floodmark", "flink-keys"),
    ("floodmark-20", "flink-keys"),
    ("floodmark", "flink-durable"),
    ("floodmark-20", "flink-durable"),
    ("floodmark", "flink-rocksdb"),
    ("floodmark-20", "flink-rocksdb"),
    ("floodmark", "flink"),
    ("floodmark-20", "flink"),
    ("floodmark-20", "streaming"),
    ("floodmark", "batch"),
    ("floodmark", "batch-parquet"),
)
"""What is divided by what: the rate of the first by that of the second."""


@dataclass(frozen=True)
class Aim:
    """A ratio that is aimed at: its geometric mean, and where it is told the least of a query."""

    what: str
    ours: str
    other: str
    mean: float
    worst: float | None = None
    stateful: bool | None = None
    """Which queries it is of: those that keep state, those that keep none, or all."""

    def ratios(self, measured: Measured) -> dict[str, float]:
        """Return the ratio of each query that it is of; one that is there twice counts once."""
        return {
            name: found
            for name, row in measured.items()
            if name not in ON_CLOSE
            and self.stateful in (None, keeps_state(name))
            and (found := ratio(row, self.ours, self.other)) is not None
        }


AIMS = (
    Aim("20 epochs, Flink with keys", "floodmark-20", "flink-keys", 1.2, worst=0.5),
    Aim("20 epochs, Flink that writes", "floodmark-20", "flink-durable", 2.0),
    Aim("at once, Flink with keys", "floodmark", "flink-keys", 2.0, worst=0.7),
    Aim("at once, stateless, batch that writes", "floodmark", "batch-parquet", 0.7, stateful=False),
    Aim("at once, stateful, batch that writes", "floodmark", "batch-parquet", 0.6, stateful=True),
)


def ratio(row: Mapping[str, Timing | str], ours: str, other: str) -> float | None:
    """Return how many times the rate of one system is that of another.

    >>> ratio({"a": Timing((2.0,)), "b": Timing((1.0, 4.0, 6.0)), "c": "refused"}, "a", "b")
    2.0
    """
    mine, theirs = row.get(ours), row.get(other)
    if not isinstance(mine, Timing) or not isinstance(theirs, Timing):
        return None
    return theirs.median / mine.median


def means(measured: Measured) -> dict[tuple[str, str], tuple[float, int]]:
    """Return the geometric mean of each ratio and of how many queries it is.

    A query that is there twice, emitting on close, too, counts once.
    """
    out = {}
    rows = [row for name, row in measured.items() if name not in ON_CLOSE]
    for pair in RATIOS:
        found = [r for row in rows if (r := ratio(row, *pair)) is not None]
        if found:
            out[pair] = geometric_mean(found), len(found)
    return out


def between(less: Measured, more: Measured) -> Measured:
    """Return the seconds that more events took longer: without what starting takes.

    >>> row = {"a": Timing((2.0,)), "b": Timing((2.0,)), "c": "refused"}
    >>> between({"q0": row}, {"q0": {**row, "a": Timing((5.0,))}})["q0"]
    {'a': Timing(seconds=(3.0,)), 'b': 'more events took no longer', 'c': 'refused'}
    """
    return {
        name: {
            system: _longer(less[name].get(system, "not measured"), row[system]) for system in row
        }
        for name, row in more.items()
        if name in less
    }


def _longer(less: Timing | str, more: Timing | str) -> Timing | str:
    if not isinstance(less, Timing) or not isinstance(more, Timing):
        return less if isinstance(less, str) else str(more)
    seconds = more.median - less.median
    return Timing((seconds,)) if seconds > 0 else "more events took no longer"


def table(
    measured: Measured,
    systems: tuple[str, ...],
    events: int,
    what: str = "events",
    stored: Mapping[str, tuple[int, int]] | None = None,
) -> Table:
    """Return thousands of events per second by query and system, and the ratios.

    `stored` has the bytes of a view and of its state.
    """
    shown = Table(title=f"{events:,} {what}; thousands of events per second, then ratios of them")
    pairs = [p for p in RATIOS if set(p) <= set(systems)]
    shown.add_column("query")
    for system in systems:
        shown.add_column(system, justify="right")
    for ours, other in pairs:
        shown.add_column(f"{ours} / {other}", justify="right")
    for column in ("view, MB", "state, MB") if stored else ():
        shown.add_column(column, justify="right")
    for name, row in measured.items():
        rates = [_rate(row.get(system), events) for system in systems]
        sizes = (f"{size / 1e6:,.1f}" for size in (stored or {}).get(name, ()))
        shown.add_row(name, *rates, *(_ratio(ratio(row, *pair)) for pair in pairs), *sizes)
    found = means(measured)
    last = [f"{found[p][0]:.2f} of {found[p][1]}" if p in found else "" for p in pairs]
    shown.add_row("mean", *("" for _ in systems), *last, style="bold")
    return shown


def reached(measured: Measured) -> dict[Aim, dict[str, float]]:
    """Return the ratios for each aim of which something was measured."""
    return {aim: found for aim in AIMS if (found := aim.ratios(measured))}


def aims(measured: Measured) -> Table:
    """Return the aims beside what was reached."""
    shown = Table(title="aims: how many times as fast as the other system")
    shown.add_column("what")
    for column in ("queries", "geometric mean", "aim", "worst", "aim"):
        shown.add_column(column, justify="right")
    for aim, found in reached(measured).items():
        worst = min(found, key=found.__getitem__)
        shown.add_row(
            aim.what,
            str(len(found)),
            f"{geometric_mean(found.values()):.2f}",
            f"≥ {aim.mean}",
            f"{worst} {found[worst]:.2f}",
            "" if aim.worst is None else f"≥ {aim.worst}",
        )
    return shown


def _rate(timing: Timing | str | None, events: int) -> str:
    if not isinstance(timing, Timing):
        return "" if timing is None else "-"
    text = f"{events / timing.median / 1000:,.0f}"
    if len(timing.seconds) == 1:
        return text
    low, high = (events / s / 1000 for s in (max(timing.seconds), min(timing.seconds)))
    return f"{text} ({low:,.0f} to {high:,.0f})"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def as_json(measured: Measured) -> dict[str, Any]:
    """Return the measures and the means."""
    rows = {
        name: {s: t.as_json() if isinstance(t, Timing) else {"not": t} for s, t in row.items()}
        for name, row in measured.items()
    }
    mean = {
        f"{a} / {b}": {"mean": round(m, 3), "of": n} for (a, b), (m, n) in means(measured).items()
    }
    return {"queries": rows, "geometric_means": mean}


def _reached_as_json(aim: Aim, found: Mapping[str, float]) -> dict[str, Any]:
    worst = min(found, key=found.__getitem__)
    return {
        "aim": {"mean": aim.mean, "worst": aim.worst},
        "mean": round(geometric_mean(found.values()), 3),
        "of": len(found),
        "worst": {worst: round(found[worst], 3)},
    }


@dataclass
class Found:
    """What a run measured, for some queries with more events, too."""

    systems: tuple[str, ...]
    events: int
    measured: dict[str, dict[str, Timing | str]] = field(default_factory=dict)
    more_events: int = 0
    more: dict[str, dict[str, Timing | str]] = field(default_factory=dict)
    stored: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By query: the bytes of the view, and those of its state."""
    memory: Mapping[str, int] = field(default_factory=dict)
    """The most bytes that the engine's process and Spark's server have had in memory."""

    def print(self, console: Console) -> None:
        """Print the tables, and why figures are missing."""
        console.print(table(self.measured, self.systems, self.events, stored=self.stored))
        print_memory(console, self.memory)
        if reached(self.measured):
            console.print(aims(self.measured))
        slope = between(self.measured, self.more)
        if self.more:
            events = self.more_events - self.events
            console.print(table(slope, self.systems, events, "events more"))
        reasons = {
            (name, system): why
            for rows in (slope, self.more, self.measured)
            for name, row in rows.items()
            for system, why in row.items()
            if isinstance(why, str)
        }
        for (name, system), why in reasons.items():
            console.print(f"{name} {system}: {why}", soft_wrap=True, markup=False)

    def as_json(self) -> dict[str, Any]:
        """Return the measures, the means, and what more events took longer."""
        found = as_json(self.measured)
        found["stored_bytes"] = {
            name: {"view": view, "state": state} for name, (view, state) in self.stored.items()
        }
        found["memory_bytes"] = dict(self.memory)
        found["aims"] = {
            aim.what: _reached_as_json(aim, ratios)
            for aim, ratios in reached(self.measured).items()
        }
        if self.more:
            slope = as_json(between(self.measured, self.more))
            found["slope"] = {"events": [self.events, self.more_events], **slope}
        return found
