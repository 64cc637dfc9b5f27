"""Views after 1 % of their input changed, against recomputing them: `python -m benchmarks.delta`.

The engine applies an UPDATE of 1 % of a table's rows to three views; the other side computes each
of these queries over the whole table and overwrites a Delta table with what comes out. Of a large
table only changes of rows side by side are measured, with fewer repetitions.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import floodmark
from benchmarks import publishing
from benchmarks.chart import dots
from benchmarks.measuring import Timing, interleaved

LARGE = 10_000_000
"""So many rows are changed side by side alone, and less often."""
GROUP = 100
"""Rows of one group, next to each other by key."""
VIEWS = {
    "aggregate": "SELECT g, count(*) AS n, sum(v) AS total, max(v) AS most FROM t GROUP BY g",
    "join": "SELECT t.k, t.v, d.name FROM t JOIN d ON t.g = d.g",
    "aggregate of join": (
        "SELECT d.region, count(*) AS n, sum(t.v) AS total "
        "FROM t JOIN d ON t.g = d.g GROUP BY d.region"
    ),
}
SCHEMA = """
CREATE TABLE t (k BIGINT PRIMARY KEY, g BIGINT, v BIGINT)
WITH (connector = 'files', path = '{folder}/t') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE d (g BIGINT PRIMARY KEY, name VARCHAR, region BIGINT)
WITH (connector = 'files', path = '{folder}/d') FORMAT PLAIN ENCODE PARQUET;
"""


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table; a whole run on a quiet machine is kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.delta", description=__doc__)
    parser.add_argument("--rows", type=int, help="a million, then ten, unless given")
    parser.add_argument("--quick", action="store_true", help="100,000 rows, 2 repetitions")
    chosen = parser.parse_args(arguments)
    quiet = publishing.is_quiet()
    sizes = (1_000_000, LARGE) if chosen.rows is None else (chosen.rows,)
    measures = []
    for rows in (100_000,) if chosen.quick else sizes:
        repeated = (1, 2) if chosen.quick or rows >= LARGE else (3, 7)
        found = [measure for name in VIEWS for measure in _of_view(name, rows, *repeated)]
        Console(width=120).print(_table(found, rows))
        measures += found
    if quiet and not chosen.quick:
        _keep(measures)


def _aim(name: str, rows: int, where: str) -> float:
    """Return how many times longer computing anew is to take."""
    if where == "scattered" and name == "aggregate":
        return 2.0  # every group has a changed row, and its maximum may go
    return 10.0 if rows >= LARGE else 3.5


def _of_view(name: str, rows: int, warm_up: int, repetitions: int) -> Iterator[dict[str, Any]]:
    """Yield the measures of one view, in a warehouse of its own."""
    with tempfile.TemporaryDirectory(prefix="floodmark-bench-") as temporary:
        folder = Path(temporary)
        _land(folder, rows)
        with floodmark.connect(folder / "warehouse") as fm:
            fm.execute_script(SCHEMA.format(folder=folder))
            fm.execute(f"CREATE MATERIALIZED VIEW v AS {VIEWS[name]}")
            fm.advance()
            for where in ("side by side", "scattered") if rows < LARGE else ("side by side",):
                yield _measured(fm, folder, name, rows, where, warm_up, repetitions)


def _land(folder: Path, rows: int) -> None:
    """Write the rows of both tables."""
    keys = np.arange(rows, dtype=np.int64)
    groups = np.arange(rows // GROUP, dtype=np.int64)
    values = np.random.default_rng(3).integers(0, 1_000, rows)
    _landed(folder / "t", pa.table({"k": keys, "g": keys // GROUP, "v": values}))
    names = [f"name of {group}" for group in groups]
    _landed(folder / "d", pa.table({"g": groups, "name": names, "region": groups % 50}))


def _landed(folder: Path, rows: pa.Table) -> None:
    folder.mkdir()
    pq.write_table(rows, folder / "all.parquet")


def _measured(
    fm: floodmark.Floodmark,
    folder: Path,
    name: str,
    rows: int,
    where: str,
    warm_up: int,
    repetitions: int,
) -> dict[str, Any]:
    """Measure updates and recomputations in turn."""
    view: list[float] = []
    target = str(folder / "recomputed")

    def update() -> None:
        number = len(view)
        first = number * (rows // 100)
        chosen = f"k >= {first} AND k < {first + rows // 100}"
        if where == "scattered":
            chosen = f"k % 100 = {number}"
        fm.execute(f"UPDATE t SET v = v + 1 WHERE {chosen}")
        view.append(fm.status()["v"].duration_s)

    def recompute() -> None:
        fm.sql(VIEWS[name]).write.format("delta").mode("overwrite").save(target)

    timings = interleaved({"update": update, "recompute": recompute}, warm_up, repetitions)
    ours, theirs = Timing(tuple(view[warm_up:])), timings["recompute"]
    return {
        "view": name,
        "rows": rows,
        "changed": where,
        "incremental": ours.as_json(),
        "recomputed": theirs.as_json(),
        "ratio": round(theirs.median / ours.median, 2),
        "aim_ratio": _aim(name, rows, where),
        "whole_update": timings["update"].as_json(),
    }


def _table(measures: list[dict[str, Any]], rows: int) -> Table:
    table = Table(title=f"1 % of {rows:,} rows changed: median (min to max)")
    for heading in ("view", "changed rows", "incremental", "recomputed", "ratio", "aim"):
        table.add_column(heading)
    for found in measures:
        table.add_row(
            found["view"],
            found["changed"],
            _seconds(found["incremental"]),
            _seconds(found["recomputed"]),
            f"{found['ratio']:.2f}",
            f"≥ {found['aim_ratio']:g}",
        )
    return table


def _seconds(timing: dict[str, Any]) -> str:
    return f"{timing['median_s']:.3f} s ({timing['min_s']:.3f} to {timing['max_s']:.3f})"


def _keep(measures: list[dict[str, Any]]) -> None:
    shown = {
        f"{m['view']}, {m['rows']:,}, {m['changed']}": {
            "incremental": m["incremental"]["median_s"],
            "recomputed": m["recomputed"]["median_s"],
        }
        for m in measures
    }
    plot = dots("1 % of the rows changed", "seconds", ("incremental", "recomputed"), shown)
    publishing.keep("delta", {"measures": measures}, plot)


if __name__ == "__main__":
    main()
