"""What an epoch costs after 1, 10 and 100 times the history: `python -m benchmarks.history`.

The same 1,000 rows arrive in three warehouses that differ in what is there already.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import publishing
from benchmarks.cases import Case, grown
from benchmarks.chart import dots
from benchmarks.measuring import Timing, interleaved

TIMES = (1, 10, 100)
AIMS = {"append": 1.1, "local": 1.1, "random": 1.5}
"""How many times what an epoch costs at first it may cost after 100 times the history."""


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table; a whole run on a quiet machine is kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.history", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="the history at 1 ×")
    parser.add_argument("--quick", action="store_true", help="5,000 rows, 3 repetitions")
    parser.add_argument("--only", choices=AIMS, help="one kind of keys")
    chosen = parser.parse_args(arguments)
    rows = 5_000 if chosen.quick else chosen.rows
    warm_up, repetitions = (2, 3) if chosen.quick else (6, 9)
    quiet = publishing.is_quiet()
    measures = [
        _measured(keys, rows, warm_up, repetitions)
        for keys in ([chosen.only] if chosen.only else AIMS)
    ]
    console = Console(width=120)
    console.print(_table(measures))
    if quiet and not (chosen.quick or chosen.only):
        _keep(measures)


def _measured(keys: str, rows: int, warm_up: int, repetitions: int) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="floodmark-bench-")))
        cases = {times: grown(folder / str(times), keys, rows * times) for times in TIMES}
        for case in cases.values():
            stack.callback(case.fm.close)
        actions: dict[str, Callable[[], object]] = {
            str(times): _epoch(case) for times, case in cases.items()
        }
        wall = interleaved(actions, warm_up, repetitions)
        views = {t: Timing(tuple(c.durations["v"][warm_up:])) for t, c in cases.items()}
    return {
        "keys": keys,
        "rows": rows,
        "epoch": {times: timing.as_json() for times, timing in wall.items()},
        "view": {str(times): timing.as_json() for times, timing in views.items()},
        "ratio": round(wall[str(TIMES[-1])].median / wall[str(TIMES[0])].median, 3),
        "view_ratio": round(views[TIMES[-1]].median / views[TIMES[0]].median, 3),
        "aim_ratio": AIMS[keys],
    }


def _epoch(case: Case) -> Callable[[], None]:
    """Return one more file and its epoch: writing 1,000 rows takes 2 ms."""

    def epoch() -> None:
        case.arrive()
        case.step()

    return epoch


def _table(measures: list[dict[str, Any]]) -> Table:
    table = Table(title="An epoch of 1,000 rows after a history: median (min to max)")
    headings = ("keys", *(f"{times} ×" for times in TIMES), "100 × / 1 ×", "view alone", "aim")
    for heading in headings:
        table.add_column(heading)
    for found in measures:
        table.add_row(
            f"{found['keys']}, {found['rows']:,} rows at 1 ×",
            *(_seconds(found["epoch"][str(times)]) for times in TIMES),
            f"{found['ratio']:.2f}",
            f"{found['view_ratio']:.2f}",
            f"≤ {found['aim_ratio']}",
        )
    return table


def _seconds(timing: dict[str, Any]) -> str:
    return f"{timing['median_s']:.3f} s ({timing['min_s']:.3f} to {timing['max_s']:.3f})"


def _keep(measures: list[dict[str, Any]]) -> None:
    systems = [f"{times} ×" for times in TIMES]
    rows = {
        found["keys"]: {
            name: found["epoch"][str(times)]["median_s"]
            for name, times in zip(systems, TIMES, strict=True)
        }
        for found in measures
    }
    plot = dots("An epoch of 1,000 rows after a history", "seconds", systems, rows)
    publishing.keep("history", {"measures": measures}, plot)


if __name__ == "__main__":
    main()
