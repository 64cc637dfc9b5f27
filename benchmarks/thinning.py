"""A source that thins its rows down before they are stored: `python -m benchmarks.thinning`.

The same files are taken in twice: by a source whose TRANSFORM USING keeps one row in a hundred, for
thirty days, and by one that stores all that comes. Then time alone passes: a day's rows are over.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import floodmark
from benchmarks import publishing
from benchmarks.measuring import Timing, timed

FILE_ROWS = 1_000_000
DAYS = 30
MICROSECOND = timedelta(microseconds=1)
START = datetime(2024, 6, 1, tzinfo=UTC)
RECEIVED = """(id BIGINT, customer BIGINT, status VARCHAR, note VARCHAR, created_at TIMESTAMPTZ)
WITH (connector = 'files', path = '{folder}') FORMAT PLAIN ENCODE PARQUET"""
KEPT = """SELECT id, customer, created_at FROM thin
WHERE status = 'kept' AND now() < created_at + INTERVAL '30 days'"""


class _Clock:
    """The time as the benchmark says."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table; a whole run on a quiet machine is kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.thinning", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--quick", action="store_true", help="100,000 rows")
    chosen = parser.parse_args(arguments)
    rows = 100_000 if chosen.quick else chosen.rows
    quiet = publishing.is_quiet()
    with tempfile.TemporaryDirectory(prefix="floodmark-bench-") as temporary:
        found = _measured(Path(temporary), rows)
    Console(width=120).print(_table(found))
    if quiet and not chosen.quick:
        publishing.keep("thinning", found)


def _measured(root: Path, rows: int) -> dict[str, Any]:
    landing = root / "landing"
    _land(landing, rows)
    clock = _Clock()
    with floodmark.connect(root / "warehouse", clock=clock) as fm:
        fm.execute(f"CREATE SOURCE warm {RECEIVED.format(folder=_warm(root))}")
        fm.advance()
        sources = {"whole": "", "thin": f" TRANSFORM USING ({KEPT})"}
        seconds = {}
        for name, transform in sources.items():
            fm.execute(f"CREATE SOURCE {name} {RECEIVED.format(folder=landing)}{transform}")
            seconds[name] = timed(fm.advance)
        view = "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n, sum(customer) AS s FROM thin"
        fm.execute(view)
        stored = fm.execute("SELECT count(*) FROM thin").rows[0][0]
        expiring = []
        for _ in range(5):
            clock.time += timedelta(days=1)
            expiring.append(timed(fm.advance))
        left = fm.execute("SELECT n FROM n").rows[0][0]
    sizes = {name: _bytes(root / "warehouse" / "public" / name) for name in sources}
    return {
        "rows": rows,
        "rows_stored": stored,
        "rows_left": left,
        "landed_bytes": _bytes(landing),
        "bytes": sizes,
        "intake_s": {name: round(value, 3) for name, value in seconds.items()},
        "epoch_of_time_alone": Timing(tuple(expiring[1:])).as_json(),
    }


def _land(folder: Path, rows: int) -> None:
    """Write files of rows of the days before the start, in the order of time; 1 % are kept."""
    folder.mkdir()
    numbers = np.random.default_rng(7)
    for number, first in enumerate(range(0, rows, FILE_ROWS)):
        ids = np.arange(first, min(first + FILE_ROWS, rows), dtype=np.int64)
        ago = ((rows - ids) / rows * (timedelta(days=DAYS) / MICROSECOND)).astype(np.int64)
        times = np.int64(START.timestamp() * 1_000_000) - ago
        table = pa.table(
            {
                "id": ids,
                "customer": numbers.integers(0, 100_000, len(ids)),
                "status": np.where(ids % 100 == 0, "kept", "dropped"),
                "note": [f"note {i} of a row that is long enough to weigh" for i in ids % 10_007],
                "created_at": pa.array(times, pa.timestamp("us", "UTC")),
            }
        )
        pq.write_table(table, folder / f"{number:04}.parquet")


def _warm(root: Path) -> Path:
    folder = root / "warm"
    _land(folder, 1_000)
    return folder


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def _table(found: dict[str, Any]) -> Table:
    rows, sizes, seconds = found["rows"], found["bytes"], found["intake_s"]
    table = Table(title=f"{rows:,} rows received, {found['landed_bytes']:,} bytes")
    for heading in ("source", "rows stored", "bytes stored", "share", "intake"):
        table.add_column(heading)
    for name, stored in (("whole", rows), ("thin", found["rows_stored"])):
        share = sizes[name] / max(sizes["whole"], 1)
        table.add_row(name, f"{stored:,}", f"{sizes[name]:,}", f"{share:.4f}", f"{seconds[name]} s")
    alone = found["epoch_of_time_alone"]
    table.caption = f"an epoch in which a day's rows are over: {alone['median_s']} s"
    return table


if __name__ == "__main__":
    main()
