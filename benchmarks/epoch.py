"""What an epoch of 1,000 rows costs: `python -m benchmarks.epoch [--quick] [--profile]`.

One process measures the engine and delta-spark in turn, on one warm Spark server.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import cases
from benchmarks.cases import Case
from benchmarks.measuring import Timing, counted, interleaved, machine
from benchmarks.profiling import profiled

RESULTS = Path(__file__).parent / "results" / "epoch.json"
NOTHING_NEW_AIM_S = 0.5


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table, write `benchmarks/results/epoch.json`."""
    parser = argparse.ArgumentParser(prog="benchmarks.epoch", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 keys, 3 repetitions")
    parser.add_argument("--profile", action="store_true", help="where the time goes; no peers")
    parser.add_argument("--only", help="the cases whose name contains this")
    chosen = parser.parse_args(arguments)
    warm_up, repetitions = (3, 3) if chosen.quick else (8, 9)
    console = Console(width=120)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="floodmark-bench-") as folder:
        for name, make in _cases(Path(folder), quick=chosen.quick).items():
            if chosen.only and chosen.only not in name:
                continue
            case = make()
            try:
                if chosen.profile:
                    _profile(case, console, warm_up, repetitions)
                    continue
                rows.append(_measured(case, warm_up, repetitions))
                if name == "chain":
                    rows.append(_nothing_new(case, repetitions))
            finally:
                case.fm.close()
    if rows:
        _report(console, rows, complete=not (chosen.quick or chosen.only))


def _cases(root: Path, *, quick: bool) -> dict[str, Callable[[], Case]]:
    keys = 100_000 if quick else cases.MILLION
    return {
        "append": lambda: cases.append(root / "append", watermark=False),
        "watermark": lambda: cases.append(root / "watermark", watermark=True),
        "aggregate": lambda: cases.aggregate(root / "aggregate", keys),
        "chain": lambda: cases.chain(root / "chain"),
    }


def _measured(case: Case, warm_up: int, repetitions: int) -> dict[str, Any]:
    """Measure the engine and its peer in turn, then count the queries of one epoch."""
    epochs: list[float] = []

    def epoch() -> None:
        case.arrive()
        started = time.perf_counter()
        case.step()
        epochs.append(time.perf_counter() - started)

    actions: dict[str, Callable[[], object]] = {"epoch": epoch}
    if case.peer is not None:
        actions["peer"] = case.peer
    timings = interleaved(actions, warm_up, repetitions)
    engine = Timing(tuple(epochs[warm_up:]))
    row: dict[str, Any] = {
        "case": case.name,
        "engine": engine.as_json(),
        "aim_s": case.aim_s,
        "objects_median_s": {k: median(v[warm_up:]) for k, v in case.durations.items()},
    }
    if "peer" in timings:
        ratio = engine.median / timings["peer"].median
        row |= {
            "peer_name": case.peer_name,
            "peer": timings["peer"].as_json(),
            "ratio": round(ratio, 3),
            "aim_ratio": round(case.aim_ratio or 0, 3),
        }
    case.arrive()
    with counted(case.fm.sessions().main.client) as requests:
        case.step()
    row["queries_per_epoch"] = requests.executed
    row["analyses_per_epoch"] = requests.analysed
    row["objects_price"] = case.prices
    return row


def _nothing_new(case: Case, repetitions: int) -> dict[str, Any]:
    """Measure `floodmark run` in a fresh process where nothing has come."""
    program = "from floodmark.cli import main; main()"
    command = [sys.executable, "-c", program, "--warehouse", str(case.fm.root)]
    command += ["--pipelines", str(case.fm.root.parent / cases.PIPELINES), "run"]

    def run() -> None:
        subprocess.run(command, check=True, capture_output=True)

    timing = interleaved({"run": run}, 1, repetitions)["run"]
    return {"case": "run, nothing new", "engine": timing.as_json(), "aim_s": NOTHING_NEW_AIM_S}


def _profile(case: Case, console: Console, warm_up: int, repetitions: int) -> None:
    """Print the median milliseconds per epoch of each object's steps."""
    for _ in range(warm_up):
        case.arrive()
        case.step()
    with profiled() as profile:
        for _ in range(repetitions):
            case.arrive()
            profile.current += 1
            case.step()
    table = Table(title=case.name)
    for heading in ("object", "step", "calls", "ms"):
        table.add_column(heading, justify="right" if heading in ("calls", "ms") else "left")
    for who, step, calls, milliseconds in profile.lines():
        table.add_row(who, step, f"{calls:.1f}", f"{milliseconds:.1f}")
    console.print(table)


def _report(console: Console, rows: list[dict[str, Any]], *, complete: bool) -> None:
    """Print the table; a complete run is kept as JSON."""
    table = Table(title="An epoch of 1,000 rows, warm: median (min to max)")
    for heading in ("what", "engine", "aim", "against", "takes", "ratio", "aim", "queries"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        peer = row.get("peer")
        table.add_row(
            row["case"],
            _seconds(row["engine"]),
            f"≤ {row['aim_s']} s",
            row.get("peer_name", ""),
            _seconds(peer) if peer else "",
            f"{row['ratio']:.2f}" if peer else "",
            f"≤ {row['aim_ratio']:.2f}" if peer else "",
            str(row.get("queries_per_epoch", "")),
        )
    console.print(table)
    _report_prices(console, rows)
    if complete:
        RESULTS.parent.mkdir(exist_ok=True)
        found = {"machine": machine(), "measures": rows}
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _report_prices(console: Console, rows: list[dict[str, Any]]) -> None:
    """Print what each object cost in the last epoch."""
    measures = ("duration_s", "plan_s", "query_s", "commit_s", "queries", "bytes_read",
                "bytes_written")  # fmt: skip
    table = Table(title="What objects cost in one epoch")
    for heading in ("case", "object", *measures):
        table.add_column(heading, justify="left" if heading in ("case", "object") else "right")
    for row in rows:
        for name, price in row.get("objects_price", {}).items():
            table.add_row(row["case"], name, *(f"{price[m]:,}" for m in measures))
    console.print(table)


def _seconds(timing: dict[str, Any]) -> str:
    return f"{timing['median_s']:.3f} s ({timing['min_s']:.3f} to {timing['max_s']:.3f})"


if __name__ == "__main__":
    main()
