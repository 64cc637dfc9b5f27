"""The measured pipelines, each in a warehouse of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import floodmark
from benchmarks import deltas, landing
from floodmark.cli.timings import price_json

MILLION = 1_000_000
PIPELINES = "pipelines"


@dataclass
class Case:
    """One pipeline to step through: `step` is one epoch of 1,000 rows."""

    name: str
    fm: Any
    files: Iterator[Path]
    aim_s: float
    aim_ratio: float | None = None
    peer: Callable[[], None] | None = None
    peer_name: str = ""
    durations: dict[str, list[float]] = field(default_factory=dict)
    prices: dict[str, dict[str, int | float]] = field(default_factory=dict)

    def arrive(self) -> None:
        """Let one more file land; not part of the measured time."""
        next(self.files)

    def step(self) -> None:
        """Run one epoch."""
        (summary,) = self.fm.advance(max_epochs=1)
        self.prices = {record.object: price_json(record) for record in summary.changes}
        for record in summary.changes:
            self.durations.setdefault(record.object, []).append(record.duration_s)


def _source(folder: Path, watermark: bool = False) -> str:
    mark = ", WATERMARK FOR ts AS ts - INTERVAL '1 hour'" if watermark else ""
    return (
        f"CREATE SOURCE events ({landing.COLUMNS}{mark}) "
        f"WITH (connector = 'files', path = '{folder}', match_pattern = '*.parquet') "
        "FORMAT PLAIN ENCODE PARQUET"
    )


def _connected(root: Path, statements: list[str]) -> Any:
    pipelines = root / PIPELINES
    pipelines.mkdir(parents=True)
    (pipelines / "objects.sql").write_text(";\n".join(statements) + ";\n", encoding="utf-8")
    return floodmark.connect(root / "warehouse", pipelines)


def append(root: Path, *, watermark: bool) -> Case:
    """One append-only object: a source of Parquet files."""
    folder = root / "landing"
    files = landing.small_files(folder, MILLION)
    fm = _connected(root, [_source(folder, watermark)])
    other = landing.small_files(root / "peer-landing", MILLION)
    peer = deltas.Appends(fm.sessions().main, root / "peer", other)
    name = "append-only object, " + ("watermark" if watermark else "no watermark")
    return Case(name, fm, files, 0.01, 1 / 3, peer.step, "delta-spark append")


def aggregate(root: Path, keys: int) -> Case:
    """A view of sums by key, with many keys at rest."""
    folder = root / "landing"
    history = landing.large_file(folder, keys)
    view = (
        "CREATE MATERIALIZED VIEW totals AS "
        "SELECT k, count(*) AS n, sum(v) AS total FROM events GROUP BY k"
    )
    fm = _connected(root, [_source(folder), view])
    fm.advance()
    other = landing.small_files(root / "peer-landing", keys)
    peer = deltas.Merges(fm.sessions().main, root / "peer", other)
    peer.fill(history)
    files = landing.small_files(folder, keys, first_id=keys)
    name = f"aggregate over {keys:,} keys"
    return Case(name, fm, files, 0.2, 1 / 3, peer.step, "MERGE + change feed")


def chain(root: Path) -> Case:
    """Five objects, one after the other, all of them updating from the third on."""
    folder = root / "landing"
    files = landing.small_files(folder, 10_000)
    statements = [
        _source(folder),
        "CREATE MATERIALIZED VIEW cleaned AS SELECT k, v * 2 AS v FROM events",
        "CREATE MATERIALIZED VIEW totals AS "
        "SELECT k, count(*) AS n, sum(v) AS total FROM cleaned GROUP BY k",
        "CREATE MATERIALIZED VIEW sizes AS "
        "SELECT n, count(*) AS keys, sum(total) AS total FROM totals GROUP BY n",
        "CREATE MATERIALIZED VIEW common AS SELECT n, keys FROM sizes WHERE keys > 10",
    ]
    return Case("chain of 5 objects", _connected(root, statements), files, 0.25)


def grown(root: Path, keys: str, rows: int) -> Case:
    """A source and a view over it after `rows` rows of history, taken in at once.

    `keys` is `append`: a projection; `local`: sums by keys that come and go with time; `random`:
    sums by keys of which each row has any.
    """
    folder = root / "landing"
    groups = "SELECT k, count(*) AS n, sum(v) AS total FROM events GROUP BY k"
    query = "SELECT id, k, v * 2 AS v FROM events" if keys == "append" else groups
    if keys == "random":
        landing.large_file(folder, rows)
        files = landing.small_files(folder, rows, first_id=rows)
    else:
        landing.history_file(folder, landing.local_keys(0, rows))
        files = landing.local_files(folder, rows)
    view = f"CREATE MATERIALIZED VIEW v AS {query}"
    fm = _connected(root, [_source(folder), view])
    fm.advance()
    return Case(f"{keys}, {rows:,} rows", fm, files, 0.0)
