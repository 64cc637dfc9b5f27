"""The events of Nexmark as Parquet files: one seed, the same files for every system."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.nexmark.queries import STREAMS, columns_of
from floodmark.connectors.base import SourceSpec, Split
from floodmark.connectors.registry import make_connector
from floodmark.connectors.sources.nexmark import rows_of
from floodmark.limits import LIMITS

SIDE_INPUT = "side_input"
SIDE_ROWS = 10_000
"""What q13 looks up: `mod(auction, 10000)` finds one row each."""


@dataclass(frozen=True)
class Data:
    """What is generated: `rate` in events per second of event time, `parts` files of each table.

    File number N of each table holds the same stretch of events, so that the files of one number
    are what arrives together.
    """

    events: int
    rate: int = 10_000
    parts: int = 20
    seed: int = 0

    @property
    def name(self) -> str:
        """Return the name of the folder."""
        return f"{self.events}-events-{self.rate}-per-s-{self.parts}-parts-seed-{self.seed}"


def prepared(spark: Any, cache: Path, data: Data) -> Path:
    """Return the folder with the files, written the first time that they are asked for."""
    folder = cache / data.name
    if not (folder / "data.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        write(spark, folder, data)
    return folder


def write(spark: Any, folder: Path, data: Data) -> None:
    """Write the files of all tables, each one sorted by time."""
    for table in STREAMS:
        (folder / table).mkdir(parents=True)
        options = {
            "connector": "nexmark",
            "nexmark.table.type": table,
            "nexmark.event.num": str(data.events),
            "nexmark.event.rate": str(data.rate),
            "nexmark.seed": str(data.seed),
        }
        schema = columns_of(table)
        connector = make_connector(SourceSpec(table, schema, "", "", options), limits=LIMITS)
        for number, (start, end) in enumerate(_cuts(table, data)):
            rows = connector.read_splits(spark, [Split(0, start, end, end - start, {})])
            columns = [f"`{column.name}`" for column in schema]
            _write_one(rows.selectExpr(*columns), folder / table / _name(number))
    side = spark.range(SIDE_ROWS).selectExpr("id AS key", "concat('value-', id) AS value")
    (folder / SIDE_INPUT).mkdir()
    _write_one(side, folder / SIDE_INPUT / _name(0))
    facts = {**asdict(data), "rows": {table: rows_of(table, data.events) for table in STREAMS}}
    (folder / "data.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _cuts(table: str, data: Data) -> Iterator[tuple[int, int]]:
    """Yield the rows of a table from … to before … that each file holds."""
    marks = [data.events * i // data.parts for i in range(data.parts + 1)]
    for low, high in pairwise(marks):
        yield rows_of(table, low), rows_of(table, high)


def _name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _write_one(rows: Any, path: Path) -> None:
    scratch = path.with_suffix(".writing")
    # Flink has no zstd: every system reads what all of them can.
    written_as = rows.coalesce(1).write.mode("overwrite").option("compression", "snappy")
    written_as.parquet(str(scratch))
    (written,) = scratch.glob("*.parquet")
    written.rename(path)
    shutil.rmtree(scratch)


def dealt(data: Path, count: int) -> Path:
    """Return a folder with the rows of prepared data in `count` files of each table, written once.

    Every file holds each `count`-th row, so that all of them reach the same time together.
    """
    folder = data / f"dealt-to-{count}"
    if not folder.exists():
        scratch = data / "dealing"
        shutil.rmtree(scratch, ignore_errors=True)
        for table in (*STREAMS, SIDE_INPUT):
            (scratch / table).mkdir(parents=True)
            parts = sorted((data / table).glob("*.parquet"))
            for number in range(count):
                _write_each(parts, scratch / table / _name(number), number, count)
        scratch.rename(folder)
    return folder


def _write_each(parts: list[Path], path: Path, first: int, step: int) -> None:
    """Write the rows `first`, `first + step` and so on of each part, one row group for each."""
    with pq.ParquetWriter(path, pq.read_schema(parts[0]), compression="snappy") as writer:
        for part in parts:
            rows = pq.read_table(part)
            chosen = rows.take(pa.array(range(first, rows.num_rows, step), pa.int64()))
            writer.write_table(chosen, row_group_size=max(1, chosen.num_rows))


class Landing:
    """A landing folder of its own in which the files of prepared data arrive, number by number.

    What arrives is a second name of the same file: nothing is copied.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        self.source = source
        self.folder = folder
        for table in (*STREAMS, SIDE_INPUT):
            (folder / table).mkdir(parents=True)
        self._link(SIDE_INPUT, 0)
        self.parts = len(list((source / "bid").glob("*.parquet")))
        self.arrived = 0

    def arrive(self, count: int = 1) -> None:
        """Let the next `count` files of each table arrive."""
        for number in range(self.arrived, self.arrived + count):
            for table in STREAMS:
                self._link(table, number)
        self.arrived += count

    def arrive_all(self) -> None:
        """Let all that is left arrive."""
        self.arrive(self.parts - self.arrived)

    def _link(self, table: str, number: int) -> None:
        (self.folder / table / _name(number)).hardlink_to(self.source / table / _name(number))
