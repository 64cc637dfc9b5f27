"""Views of TPC-H kept up, against computing them anew: `python -m benchmarks.tpch [--quick] …`.

Another program changes a share of the tables; one epoch brings all views up to date. The same
engine then computes all of their queries at that cut.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from benchmarks import publishing
from benchmarks.chart import dots
from benchmarks.measuring import memory_peaks, print_memory
from benchmarks.options import names as names_of
from benchmarks.tpch.data import VERSION, prepared
from benchmarks.tpch.engine import Views, views
from benchmarks.tpch.lake import KINDS, Lake
from benchmarks.tpch.queries import NAMES, definition, refusal
from benchmarks.tpch.report import Measure, Result
from floodmark.spark.cache import cache_folder
from floodmark.spark.confs import default_config
from floodmark.spark.session import open_sessions

SHARES = (0.001, 0.01, 0.1)
QUICK = ("q1", "q3", "q6", "q13", "q17")
WARM_UP = 0.001


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the table; a complete run on a quiet machine is kept.

    Exits with 1 where a view differed from its query.
    """
    chosen = _parser().parse_args(arguments)
    # Ends what was started, also when somebody else ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if chosen.quick:
        chosen.scale, chosen.rates = 0.01, (0.01,)
        chosen.views = QUICK if chosen.views == NAMES else chosen.views
    complete = (chosen.scale, chosen.kinds, chosen.rates, chosen.views) == (1, KINDS, SHARES, NAMES)
    complete &= chosen.files is None and not chosen.unchecked
    quiet = publishing.is_quiet()
    plan = [(kind, share) for share in chosen.rates for kind in chosen.kinds] * chosen.repetitions
    console = Console(width=max(120, 24 * len(chosen.rates) * len(chosen.kinds)))
    result = Result(chosen.scale, chosen.views)
    result.leave({v: why for v in chosen.views if (why := refusal(definition(v))) is not None})
    files = chosen.files or prepared(cache_folder() / "bench", chosen.scale)
    with _opened(files, result.views) as (lake, found):
        _warm_up(lake, found, chosen.kinds)
        for kind, share in plan:
            measure = result.measure(kind, share)
            _step(lake, found, measure, console, compared=not chosen.unchecked)
            result.leave(found.failed)
            result.stored, result.memory = found.stored(), memory_peaks()
            if chosen.output:  # what ends it early loses one refresh
                _keep(result, chosen.output)
    console.print(result.table())
    print_memory(console, result.memory)
    if chosen.markdown:
        print(result.markdown())
    for view, why in result.failed.items():
        console.print(f"{view}: {why}", soft_wrap=True, markup=False)
    if result.differing:
        sys.exit(f"views that differ from their queries, in rows: {result.differing}")
    if complete and quiet and not chosen.output:
        _keep(result, publishing.RESULTS)
    elif complete and not chosen.output:
        console.print(f"not kept: the load was {publishing.QUIET} or more")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.tpch", description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="1 has six million lines")
    parser.add_argument("--files", type=Path, help="a folder with TABLE.parquet of each table")
    parser.add_argument(
        "--rates", type=_percents, default=SHARES, help="changed rows in percent: 0.1,1,10"
    )
    parser.add_argument("--kinds", type=names_of(KINDS), default=KINDS, help=", ".join(KINDS))
    parser.add_argument("--views", type=names_of(NAMES), default=NAMES, help="such as q1,q17")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--unchecked", action="store_true", help="compare no view with its query")
    parser.add_argument("--markdown", action="store_true", help="print the table of README.md, too")
    parser.add_argument("--quick", action="store_true", help="scale 0.01, 1 %%, five views")
    parser.add_argument("--output", type=Path, help="write results into this folder in any case")
    return parser


def _percents(text: str) -> tuple[float, ...]:
    return tuple(float(part) / 100 for part in text.split(","))


@contextmanager
def _opened(files: Path, names: tuple[str, ...]) -> Iterator[tuple[Lake, Views]]:
    """Yield the lake and a warehouse with the views, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="floodmark-tpch-") as folder:
        root = Path(folder)
        with (
            Lake(files, root / "lake") as lake,
            open_sessions(default_config()) as sessions,
            views(lake.folder, root, names, sessions) as found,
        ):
            yield lake, found


def _warm_up(lake: Lake, found: Views, kinds: tuple[str, ...]) -> None:
    """Have what each kind of refresh and the queries need compiled."""
    for kind in kinds:
        lake.refresh(kind, WARM_UP)
        found.epoch()
    found.recompute()


def _step(lake: Lake, found: Views, measure: Measure, console: Console, *, compared: bool) -> None:
    """Refresh once, take both times, then compare the views with their queries."""
    measure.rows = lake.refresh(measure.kind, measure.share)
    measure.epochs.append(found.epoch())
    measure.recomputed.append(found.recompute())
    epoch, anew = measure.epochs[-1].seconds, measure.recomputed[-1].seconds
    console.print(f"{measure.name}: {epoch:.2f} s, computed anew {anew:.2f} s")
    if compared:
        measure.differing |= found.differing()


def _keep(result: Result, folder: Path) -> None:
    title = f"TPC-H at scale {result.scale:g}: computed anew / epoch"
    refreshes = tuple(measure.name for measure in result.measures)
    plot = dots(title, "times faster", refreshes, result.ratios)
    publishing.keep("tpch", {"duckdb": VERSION, **result.as_json()}, plot, folder)


if __name__ == "__main__":
    main()
