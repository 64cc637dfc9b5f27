"""Whether a run that goes on stays as it was: `python -m benchmarks.soak [--epochs 500]`.

One `floodmark run --follow` takes in a file per epoch. Printed are medians of seconds per epoch and
of the memory of the driver and of the server, over the epochs 100 to 200 and over the last 100.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from floodmark.spark.confs import default_config
from floodmark.spark.server import status
from floodmark.storage.logs.epochs import EpochLog

AIM = 1.05
"""How many times what it was at first each median of the last epochs may be."""
MIB = 2**20
ROWS = 200
PIPELINE = """
CREATE SOURCE s (id BIGINT, k INT, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts - INTERVAL '1 hour')
  WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW totals AS SELECT k, count(*) AS n, sum(v) AS sv FROM s GROUP BY k;
CREATE MATERIALIZED VIEW hours AS SELECT window_start, count(*) AS n
  FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE;
"""


@dataclass(frozen=True)
class Epoch:
    """What was measured after one epoch: seconds that it took, bytes that processes hold."""

    seconds: float
    driver: int
    server: int


def main(arguments: list[str] | None = None) -> None:
    """Run, print a table, and end with 1 where something has grown."""
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__)
    parser.add_argument("--epochs", type=int, default=500)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="floodmark-soak-") as folder:
        found = list(measured(Path(folder), chosen.epochs))
    first, last = found[chosen.epochs // 5 : chosen.epochs * 2 // 5], found[-chosen.epochs // 5 :]
    ratios = {name: ratio(first, last, name) for name in ("seconds", "driver", "server")}
    Console(width=100).print(_table(first, last, ratios))
    if any(found_ratio > AIM for found_ratio in ratios.values()):
        sys.exit(1)


def measured(folder: Path, epochs: int) -> Iterator[Epoch]:
    """Let one process follow a source to which files come, and yield what each epoch took."""
    landing, pipelines, root = (folder / name for name in ("landing", "pipelines", "warehouse"))
    landing.mkdir()
    pipelines.mkdir()
    (pipelines / "all.sql").write_text(PIPELINE.format(landing=landing))
    log = EpochLog(root)
    with _following(root, pipelines) as driver:
        _await_epoch(log, 1, driver)
        for number in range(epochs):
            sealed = log.head().sealed
            _land(landing, number)
            _await_epoch(log, sealed + 1, driver)
            opened, done = log.open_record(sealed + 1), log.seal_record(sealed + 1)
            took = (done.sealed_at - opened.opened_at).total_seconds()
            pid = status(default_config()).pid
            server = 0 if pid is None else psutil.Process(pid).memory_info().rss
            yield Epoch(took, driver.memory_info().rss, server)


@contextmanager
def _following(root: Path, pipelines: Path) -> Iterator[psutil.Process]:
    command = [
        sys.executable, "-c", "from floodmark.cli import main; main()", "run", "--follow",
        "--warehouse", str(root), "--pipelines", str(pipelines),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


def _await_epoch(log: EpochLog, epoch: int, driver: psutil.Process) -> None:
    while log.head().sealed < epoch:
        if driver.status() == psutil.STATUS_ZOMBIE:
            raise RuntimeError(f"the run has ended before epoch {epoch}")
        time.sleep(0.05)


def _land(landing: Path, number: int) -> None:
    rows = (
        {"id": number * ROWS + i, "k": i % 20, "v": i,
         "ts": f"2024-01-{1 + number // 24 % 28:02} {number % 24:02}:{i % 60:02}:00"}
        for i in range(ROWS)
    )  # fmt: skip
    hidden = landing / f".{number:06}"
    hidden.write_text("\n".join(map(json.dumps, rows)) + "\n")
    hidden.rename(landing / f"{number:06}.json")


def ratio(first: Sequence[Epoch], last: Sequence[Epoch], name: str) -> float:
    """Return how many times the first median of a measure the last one is."""
    return _median(last, name) / max(_median(first, name), 1e-9)


def _median(found: Sequence[Epoch], name: str) -> float:
    return statistics.median(float(getattr(epoch, name)) for epoch in found)


def _table(first: Sequence[Epoch], last: Sequence[Epoch], ratios: dict[str, float]) -> Table:
    table = Table("median of", f"{len(first)} early epochs", f"the last {len(last)}", "times")
    for name, times in ratios.items():
        size, unit = (1, "s") if name == "seconds" else (MIB, "MiB")
        early, late = (_median(epochs, name) / size for epochs in (first, last))
        label = "an epoch" if name == "seconds" else f"memory of the {name}"
        table.add_row(label, f"{early:.3f} {unit}", f"{late:.3f} {unit}", f"{times:.3f}")
    return table


if __name__ == "__main__":
    main()
