"""What an epoch reads does not grow with the history, and neither do the files at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from floodmark.limits import LIMITS
from floodmark.scalar.types import Schema
from floodmark.spark.session import Sessions
from floodmark.storage.table import DataFile, Handle, Store
from floodmark.tables.tables import Tables
from tests.warehouses import NOW, PROJECTED, READINGS, Site, put, tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
PER_HOUR = """
CREATE MATERIALIZED VIEW g AS
SELECT window_start, k, count(*) AS n, sum(v) AS sv
FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start, k;
"""
SUMMARY = "SELECT window_start, k, n FROM g"


class CountingTables(Tables):
    """Tables that count, per table, the bytes of the files which Spark is told to read."""

    def __init__(self, store: Store, spark: SparkSession) -> None:
        super().__init__(store, spark, LIMITS)
        self.read_bytes: Counter[str] = Counter()

    def read(
        self, handle: Handle, columns: Schema, files: Sequence[DataFile] | None = None
    ) -> DataFrame | None:
        chosen = handle.files if files is None else files
        self.read_bytes[handle.table] += sum(file.size for file in chosen)
        return super().read(handle, columns, files)


def _hour(number: int) -> list[tuple[int, str, int, int | None]]:
    """Return forty readings of one hour."""
    return [(number * 40 + i, "abcd"[i % 4], number * 60 + i, i % 9) for i in range(40)]


@dataclass(frozen=True)
class Long:
    """A run of many epochs: what each has read, per table, and whether an old one still reads."""

    root: Path
    epochs: int
    read: list[Counter[str]]
    old_is_the_same: bool
    rows: int

    def early_and_late(self, table: str) -> tuple[int, int]:
        """Return what the 5th and the 50th epoch have read of a table."""
        return self.read[4][table], self.read[49][table]

    def most_files(self) -> int:
        """Return the active files of the table that has most."""
        return max(len(DeltaTable(str(self.root / t)).file_uris()) for t in tables(self.root))


def _run(site: Site, epochs: int) -> Long:
    site.define(READINGS, PROJECTED, PER_HOUR)
    read = []
    with site.connect() as fm:
        counting = CountingTables(fm.store, fm.sessions().main)
        fm.warehouse._tables = counting
        for number in range(epochs):
            put(site.landing, f"{number:04d}", _hour(number))
            counting.read_bytes.clear()
            (epoch,) = fm.advance(now=NOW)
            assert not epoch.suspended
            read.append(counting.read_bytes.copy())
            if number == 2:
                pinned, rows = epoch.epoch, _rows(fm.sql(SUMMARY, at_epoch=epoch.epoch))
        again = _rows(fm.sql(SUMMARY, at_epoch=pinned))
        total = sum(n for _, _, n in _rows(fm.sql(SUMMARY)))
    return Long(site.root / "warehouse", epochs, read, again == rows, total)


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


@pytest.fixture(
    scope="module", params=[52, pytest.param(300, marks=pytest.mark.long)], ids=["52", "300"]
)
def long(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sessions: Sessions
) -> Long:
    """Return a run of more epochs than a table may have files."""
    assert LIMITS.compact_files < 50
    return _run(Site(tmp_path_factory.mktemp("long"), sessions), request.param)


def test_a_projection_reads_as_much_after_a_while(long: Long) -> None:
    early, late = long.early_and_late("_rows/public/s")
    assert 0 < late <= 1.3 * early


def test_groups_of_a_new_hour_do_not_read_the_old_hours(long: Long) -> None:
    early, late = long.early_and_late("_rows/public/g")
    assert late <= 1.3 * early


def test_files_are_merged_and_old_epochs_stay_readable(long: Long) -> None:
    assert long.most_files() <= 50
    assert long.old_is_the_same
    assert long.rows == 40 * long.epochs
