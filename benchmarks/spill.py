"""State far beyond Spark's heap: `python -m benchmarks.spill [--events 50000000 --heap 1024]`.

One Nexmark query after the other is caught up, on a server of its own with a small heap. Printed
are the bytes of the view and of its state, the most memory that the engine and the server had, and
what the server spilled to the disk. It ends with 1 where a query fails, or nothing was spilled.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measuring import memory_peaks
from benchmarks.nexmark import engine
from benchmarks.nexmark.data import Data, prepared
from benchmarks.nexmark.queries import ALL
from benchmarks.options import names as names_of
from floodmark.spark.cache import cache_folder
from floodmark.spark.confs import SparkConfig, default_config
from floodmark.spark.server import status
from floodmark.spark.session import open_sessions

QUERIES = ("q9", "q18", "q20")
"""Queries that keep all bids: what they hold does not fit into the heap."""
_EVERY_S = 0.2


class Spills:
    """What the sorts, joins and aggregates of a server have written to the disk so far."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}

    def look(self) -> None:
        """See the files that are there: each goes when its task ends."""
        for path in self._folder.rglob("temp_local_*"):
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                continue
            self._sizes[path.name] = max(size, self._sizes.get(path.name, 0))

    @property
    def bytes(self) -> int:
        """Return the bytes of all files that were seen, at least what was spilled."""
        return sum(self._sizes.values())


@contextmanager
def spills_of(config: SparkConfig) -> Iterator[Spills]:
    """Watch a running server for the block."""
    spills, over = Spills(status(config).folder), threading.Event()

    def watch() -> None:
        while not over.wait(_EVERY_S):
            spills.look()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield spills
    finally:
        over.set()
        thread.join()


def main(arguments: list[str] | None = None) -> None:
    """Run, print a table, and end with 1 where nothing was spilled."""
    parser = argparse.ArgumentParser(prog="benchmarks.spill", description=__doc__)
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--heap", type=int, default=1024, help="of the server, in MiB")
    parser.add_argument("--parts", type=int, default=20, help="files of each table")
    parser.add_argument("--queries", type=names_of(ALL), default=QUERIES)
    parser.add_argument("--by-part", action="store_true", help="an epoch for each file")
    chosen = parser.parse_args(arguments)
    config = replace(default_config(), heap_mb=chosen.heap)
    shown = Table(title=f"{chosen.events:,} events, a heap of {chosen.heap:,} MiB; MB")
    for column in ("query", "s", "epochs", "view", "state", "spilled", "engine", "server"):
        shown.add_column(column, justify="left" if column == "query" else "right")
    spilled = []
    with tempfile.TemporaryDirectory(prefix="floodmark-spill-") as place:
        cache = cache_folder() / "bench" / "nexmark"
        with open_sessions(default_config()) as sessions:
            files = prepared(sessions.main, cache, Data(chosen.events, parts=chosen.parts))
        with open_sessions(config) as sessions:
            for name in chosen.queries:
                folder = Path(place) / name
                folder.mkdir()
                with spills_of(config) as spills:
                    run = engine.catch_up(name, files, folder, sessions, by_part=chosen.by_part)
                shutil.rmtree(folder)
                peaks = memory_peaks(config)
                sizes = (run.view_bytes, run.state_bytes, spills.bytes, *peaks.values())
                seconds, epochs = f"{run.seconds:.1f}", str(run.epochs)
                shown.add_row(name, seconds, epochs, *(f"{size / 1e6:,.0f}" for size in sizes))
                spilled.append(spills.bytes)
    Console(width=100).print(shown)
    if not all(spilled):
        sys.exit(1)


if __name__ == "__main__":
    main()
