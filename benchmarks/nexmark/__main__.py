"""Catch-up over Nexmark against Flink and Spark: `python -m benchmarks.nexmark [--quick] …`.

Every system reads the same Parquet files, one after the other for each query.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks import publishing
from benchmarks.chart import dots
from benchmarks.measuring import Timing
from benchmarks.nexmark import engine, flink, report, spark
from benchmarks.nexmark.data import Data, prepared
from benchmarks.nexmark.queries import ALL
from benchmarks.options import names as names_of
from floodmark.errors import FloodmarkError
from floodmark.spark.cache import cache_folder
from floodmark.spark.confs import default_config
from floodmark.spark.session import Sessions, open_sessions

SYSTEMS = ("floodmark", "floodmark-20", "flink-keys", "flink", "streaming", "batch")
QUICK = ("q1", "q4", "q12", "q20")
WARM_UP_EVENTS, WARM_UP_PARTS = 50_000, 4
_RATES = "Nexmark: events per second, whole data set"


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the table; a complete run on a quiet machine is kept."""
    chosen = _parser().parse_args(arguments)
    # Ends what was started, Flink above all, also when somebody else ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if chosen.quick:
        chosen.events, chosen.parts, chosen.queries = 50_000, 4, chosen.queries or QUICK
    names, systems = chosen.queries or ALL, chosen.systems or SYSTEMS
    quiet = publishing.is_quiet()
    data = Data(chosen.events, chosen.rate, chosen.parts, chosen.seed)
    console = Console(width=180)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="floodmark-nexmark-")))
        bench = Bench.opened(stack, folder, cache_folder() / "bench", systems)
        warm = None if chosen.quick else Data(WARM_UP_EVENTS, chosen.rate, WARM_UP_PARTS)
        measured: report.Measured = {}
        for name, row in bench.rows(names, systems, data, warm, chosen.repetitions, console):
            measured[name] = row
            if chosen.output:  # what ends it early loses one query
                _keep(measured, systems, data, chosen.output)
    console.print(report.table(measured, systems, data.events))
    for name, row in measured.items():
        for system, why in row.items():
            if isinstance(why, str):
                console.print(f"{name} {system}: {why}", soft_wrap=True, markup=False)
    complete = names == ALL and systems == SYSTEMS and not chosen.quick
    if complete and quiet and not chosen.output:
        _keep(measured, systems, data, publishing.RESULTS)
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
    parser.add_argument("--quick", action="store_true", help="50,000 events, four queries")
    parser.add_argument("--output", type=Path, help="write results into this folder in any case")
    return parser


@dataclass
class Bench:
    """What is running: the Spark sessions and, where it is asked for, Flink."""

    folder: Path
    cache: Path
    sessions: Sessions
    flink: flink.Cluster | None
    runs: int = 0

    @staticmethod
    def opened(stack: ExitStack, folder: Path, cache: Path, systems: tuple[str, ...]) -> Bench:
        """Start what the systems need, until the stack ends."""
        sessions = stack.enter_context(open_sessions(default_config()))
        cluster = None
        if any(system.startswith("flink") for system in systems):
            (folder / "flink").mkdir()
            found = flink.installed(cache)
            cluster = stack.enter_context(flink.cluster(found, folder / "flink"))
        return Bench(folder, cache, sessions, cluster)

    def rows(
        self,
        names: tuple[str, ...],
        systems: tuple[str, ...],
        data: Data,
        warm: Data | None,
        repetitions: int,
        console: Console,
    ) -> Iterator[tuple[str, dict[str, Timing | str]]]:
        """Yield the seconds of every query on every system, or why there are none."""
        files = prepared(self.sessions.main, self.cache / "nexmark", data)
        small = None
        if warm is not None:
            small = prepared(self.sessions.main, self.cache / "nexmark", warm)
        for name in names:
            # What is compiled for one way of running a system serves the other.
            for system in {s.partition("-")[0]: s for s in reversed(systems)}.values():
                if small is not None:
                    self._attempt(system, name, small)
            yield name, self._row(name, systems, files, repetitions, console)

    def _row(
        self,
        name: str,
        systems: tuple[str, ...],
        files: Path,
        repetitions: int,
        console: Console,
    ) -> dict[str, Timing | str]:
        """Run one query on all systems in turn, as often as it is asked for."""
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
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        folder.mkdir()
        try:
            return self._run(system, name, data, folder)
        except FloodmarkError as error:
            return f"{error.code}: {error.message}"
        except Exception as error:
            return str(error).strip()[:500] or type(error).__name__
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, system: str, name: str, data: Path, folder: Path) -> float:
        match system:
            case "floodmark":
                return engine.catch_up(name, data, folder, self.sessions).seconds
            case "floodmark-20":
                return engine.catch_up(name, data, folder, self.sessions, by_part=True).seconds
            case "batch":
                return spark.batch(self.sessions.main, name, data)
            case "streaming":
                return spark.streaming(self.sessions.main, name, data, folder)
            case _:
                assert self.flink is not None
                files = flink.listed_in_order(data, folder)
                return self.flink.run(name, files, keys=system == "flink-keys")


def _keep(measured: report.Measured, systems: tuple[str, ...], data: Data, folder: Path) -> None:
    rates = {
        name: {s: data.events / t.median for s, t in row.items() if isinstance(t, Timing)}
        for name, row in measured.items()
    }
    found = {
        "data": {"events": data.events, "rate": data.rate, "parts": data.parts, "seed": data.seed},
        "flink": flink.VERSION,
        **report.as_json(measured),
    }
    publishing.keep("nexmark", found, dots(_RATES, "events per second", systems, rates), folder)


if __name__ == "__main__":
    main()
