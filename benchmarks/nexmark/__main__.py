"""Catch-up over Nexmark against Flink and Spark: `python -m benchmarks.nexmark [--quick] …`.

Every system reads the same Parquet files, one after the other for each query.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from benchmarks import publishing
from benchmarks.chart import dots
from benchmarks.measuring import Timing, memory_peaks
from benchmarks.nexmark import engine, flink, report, spark
from benchmarks.nexmark.data import Data, prepared
from benchmarks.nexmark.queries import ALL
from benchmarks.options import names as names_of
from floodmark.errors import FloodmarkError
from floodmark.spark.cache import cache_folder
from floodmark.spark.confs import default_config
from floodmark.spark.session import Sessions, open_sessions

SYSTEMS = ("floodmark", "floodmark-20", *flink.WAYS, "streaming", "batch", "batch-parquet")
DEFAULT = ("floodmark", "floodmark-20", "flink-keys", "flink-durable", "batch", "batch-parquet")
QUICK = ("q1", "q4", "q12", "q20")
OF_SLOPE = ("q0", "q2", "q3", "q8", "q12", "q15")
"""Queries whose slope is measured unless others are chosen: starting is most of q2, q3 and q8."""
WARM_UP_EVENTS, WARM_UP_PARTS = 50_000, 4
_RATES = "Nexmark: events per second, whole data set"


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the tables; a complete run on a quiet machine is kept."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    # Ends what was started, Flink above all, also when somebody else ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if chosen.quick:
        chosen.events, chosen.parts, chosen.queries = 50_000, 4, chosen.queries or QUICK
    if chosen.slope is not None and chosen.slope <= chosen.events:
        parser.error(f"--slope: more than {chosen.events} events, those of --events, are needed")
    names, systems = chosen.queries or ALL, chosen.systems or DEFAULT
    quiet = publishing.is_quiet()
    data = Data(chosen.events, chosen.rate, chosen.parts, chosen.seed)
    console = Console(width=180)
    found = report.Found(systems, data.events)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="floodmark-nexmark-")))
        small = None if chosen.quick else Data(WARM_UP_EVENTS, chosen.rate, WARM_UP_PARTS)
        bench = Bench.opened(stack, folder, cache_folder() / "bench", small)
        bench.flink.install(systems)
        steps = [(data, name, found.measured) for name in names]
        if chosen.slope is not None:
            more = replace(data, events=chosen.slope)
            found.more_events = more.events
            steps += [(more, name, found.more) for name in chosen.queries or OF_SLOPE]
        for events, name, rows in steps:
            files = bench.files(events)
            rows[name] = bench.row(name, systems, files, chosen.repetitions, console)
            found.stored, found.memory = bench.stored, memory_peaks()
            if chosen.output:  # what ends it early loses one query
                _keep(found, data, chosen.output)
    found.print(console)
    complete = names == ALL and systems == DEFAULT and not chosen.quick
    if complete and quiet and not chosen.output:
        _keep(found, data, publishing.RESULTS)
    elif complete and not chosen.output:
        console.print(f"not kept: the load was {publishing.QUIET} or more")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.nexmark", description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=10_000, help="events per second of event time")
    parser.add_argument("--parts", type=int, default=20, help="files of each table: epochs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--queries", type=names_of(ALL), help="such as q0,q4")
    parser.add_argument("--systems", type=names_of(SYSTEMS), help=", ".join(SYSTEMS))
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument(
        "--slope",
        type=int,
        metavar="EVENTS",
        help=f"measure the chosen queries ({', '.join(OF_SLOPE)}) with so many events, too, and "
        "what the events between cost",
    )
    parser.add_argument("--quick", action="store_true", help="50,000 events, four queries")
    parser.add_argument("--output", type=Path, help="write results into this folder in any case")
    return parser


@dataclass
class Bench:
    """What is running: the Spark sessions and, where it is asked for, Flink."""

    folder: Path
    cache: Path
    sessions: Sessions
    flink: flink.Clusters
    small: Path | None = None
    stored: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By query what the engine's last run has stored: bytes of the view, bytes of its state."""
    warm: set[tuple[str, object]] = field(default_factory=set)
    runs: int = 0

    @staticmethod
    def opened(stack: ExitStack, folder: Path, cache: Path, small: Data | None) -> Bench:
        """Start what the systems need, until the stack ends; `small` data warm them up."""
        sessions = stack.enter_context(open_sessions(default_config()))
        clusters = stack.enter_context(flink.Clusters(cache, folder / "flink"))
        bench = Bench(folder, cache, sessions, clusters)
        bench.small = None if small is None else bench.files(small)
        return bench

    def files(self, data: Data) -> Path:
        """Return the folder with the events."""
        return prepared(self.sessions.main, self.cache / "nexmark", data)

    def row(
        self,
        name: str,
        systems: tuple[str, ...],
        files: Path,
        repetitions: int,
        console: Console,
    ) -> dict[str, Timing | str]:
        """Return the seconds of one query on all systems, in turn, or why there are none."""
        times: dict[str, list[float]] = {}
        failed: dict[str, str] = {}
        for _ in range(repetitions):
            for system in (s for s in systems if s not in failed):
                found = self._attempt(system, name, files)
                if isinstance(found, str):
                    failed[system] = found
                else:
                    times.setdefault(system, []).append(found)
                    console.print(f"{name} {system} {found:.2f} s")
        return {s: failed[s] if s in failed else Timing(tuple(times[s])) for s in systems}

    def _attempt(self, system: str, name: str, data: Path) -> float | str:
        why = flink.left_out(system, name)
        if why is not None:
            return why
        try:
            self._warm_up(system, name)
            return self._run(system, name, data)
        except FloodmarkError as error:
            return f"{error.code}: {error.message}"
        except Exception as error:
            return str(error).strip()[:500] or type(error).__name__

    def _warm_up(self, system: str, name: str) -> None:
        """Run a query on a few events, once on each thing that runs.

        What is compiled for one way of running a system serves the other.
        """
        way = flink.WAYS.get(system)
        runner = system.partition("-")[0] if way is None else self.flink.of(way)
        if self.small is not None and (name, runner) not in self.warm:
            self.warm.add((name, runner))
            self._run(system, name, self.small)

    def _run(self, system: str, name: str, data: Path) -> float:
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        folder.mkdir()
        try:
            return self._seconds(system, name, data, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _seconds(self, system: str, name: str, data: Path, folder: Path) -> float:
        match system:
            case "floodmark":
                return self._catch_up(name, data, folder, by_part=False)
            case "floodmark-20":
                return self._catch_up(name, data, folder, by_part=True)
            case "batch":
                return spark.batch(self.sessions.main, name, data)
            case "batch-parquet":
                return spark.batch(self.sessions.main, name, data, folder / "rows")
            case "streaming":
                return spark.streaming(self.sessions.main, name, data, folder)
            case _:
                return self.flink.run(flink.WAYS[system], name, data, folder / "rows").seconds

    def _catch_up(self, name: str, data: Path, folder: Path, *, by_part: bool) -> float:
        caught = engine.catch_up(name, data, folder, self.sessions, by_part=by_part)
        self.stored[name] = caught.view_bytes, caught.state_bytes
        return caught.seconds


def _keep(found: report.Found, data: Data, folder: Path) -> None:
    rates = {
        name: {s: data.events / t.median for s, t in row.items() if isinstance(t, Timing)}
        for name, row in found.measured.items()
    }
    facts = {
        "data": {"events": data.events, "rate": data.rate, "parts": data.parts, "seed": data.seed},
        "flink": {name: way.flavour.version for name, way in flink.WAYS.items()},
        **found.as_json(),
    }
    plot = dots(_RATES, "events per second", found.systems, rates)
    publishing.keep("nexmark", facts, plot, folder)


if __name__ == "__main__":
    main()
