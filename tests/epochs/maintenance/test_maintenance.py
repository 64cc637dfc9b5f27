"""Maintenance keeps contents: at the newest epoch, at pinned old ones, and for what comes next."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import Floodmark, connect
from floodmark.epochs.maintenance import after_seal
from floodmark.limits import Limits
from floodmark.spark.session import Sessions

DEFINITIONS = """
CREATE SOURCE s (id BIGINT, k VARCHAR) WITH (connector = 'files', path = '{path}')
  FORMAT PLAIN ENCODE PARQUET;
CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n, max(id) AS last FROM s GROUP BY k;
CREATE MATERIALIZED VIEW copies AS SELECT id, k FROM s;
"""
QUERIES = ("SELECT * FROM s", "SELECT * FROM counts", "SELECT * FROM copies")


def _land(folder: Path, number: int) -> None:
    columns = {"id": pa.array([number * 2, number * 2 + 1], pa.int64()), "k": pa.array(["a", "b"])}
    pq.write_table(pa.table(columns), folder / f"{number:04}.parquet")


def _read(floodmark: Floodmark, epoch: int) -> list[list[tuple[object, ...]]]:
    frames = (floodmark.sql(query, at_epoch=epoch) for query in QUERIES)
    return [sorted(map(tuple, frame.collect())) for frame in frames]


def _files(floodmark: Floodmark) -> dict[str, int]:
    versions = {t: v for r in floodmark.status().values() for t, v in r.versions.items()}
    return {table: len(floodmark.store.open(table).files) for table in versions}


@pytest.mark.spark
def test_contents_and_pinned_epochs_stay(sessions: Sessions, tmp_path: Path) -> None:
    limits = Limits(compact_files=4, checkpoint_commits=3)
    landing = tmp_path / "landing"
    landing.mkdir()
    with connect(tmp_path / "warehouse", sessions=lambda: sessions, limits=limits) as floodmark:
        floodmark.execute_script(DEFINITIONS.format(path=landing))
        for number in range(7):
            _land(landing, number)
            floodmark.advance()
        assert max(_files(floodmark).values()) <= 5
        log = tmp_path / "warehouse" / "_rows" / "public" / "s" / "_delta_log"
        assert list(log.glob("*.checkpoint.parquet"))

        head = floodmark.warehouse.log.head().sealed
        before = {epoch: _read(floodmark, epoch) for epoch in (head - 3, head)}
        assert before[head][1] == [("a", 7, 12), ("b", 7, 13)]
        report = floodmark.maintain()
        assert report.deleted_files == 0
        assert {epoch: _read(floodmark, epoch) for epoch in before} == before

        _land(landing, 7)
        floodmark.advance()
        assert _read(floodmark, head) == before[head]
        assert _read(floodmark, head + 1)[1] == [("a", 8, 14), ("b", 8, 15)]

        swept = floodmark.maintain(timedelta(0))
        assert swept.deleted_files > 0
        assert _read(floodmark, head + 1)[1] == [("a", 8, 14), ("b", 8, 15)]
        _land(landing, 8)
        floodmark.advance()
        assert _read(floodmark, head + 2)[1] == [("a", 9, 16), ("b", 9, 17)]


def test_what_fails_after_a_seal_is_a_warning(tmp_path: Path) -> None:
    with connect(tmp_path) as floodmark:
        floodmark.execute("CREATE TABLE t (a INT PRIMARY KEY)")
        (tmp_path / "_rows/public/t/_delta_log/00000000000000000001.checkpoint.parquet").mkdir()
        floodmark.warehouse.limits = Limits(checkpoint_commits=1)
        after_seal.maintain_tables(floodmark.warehouse, {}, floodmark.status())
        (warning,) = floodmark.warehouse.log.events(2)
        assert warning.kind == "warning" and "E0508" in warning.message


@pytest.mark.spark
def test_an_arrangement_is_as_long_as_what_it_adds_up_to(
    sessions: Sessions, tmp_path: Path
) -> None:
    limits = Limits(compact_files=3, log_files=1)
    with connect(tmp_path / "warehouse", sessions=lambda: sessions, limits=limits) as floodmark:
        floodmark.execute_script("""
            CREATE TABLE t (k INT PRIMARY KEY, g INT);
            CREATE MATERIALIZED VIEW v AS
              (SELECT g, k FROM t ORDER BY k DESC LIMIT 1) EXCEPT SELECT k, 1 FROM t WHERE k > 5;
        """)
        for number in range(6):
            floodmark.execute(f"INSERT INTO t VALUES ({number}, 7)")
        assert floodmark.sql("SELECT g, k FROM v").collect() == [(7, 5)]
        (table,) = (t for t in _files(floodmark) if t.endswith("_left"))
        held = floodmark.store.open(table).files
        # Six rows came, five of them went: eleven changes.
        assert sum(file.rows for file in held) < 6
        floodmark.execute("DELETE FROM t WHERE k < 6")
        assert floodmark.sql("SELECT g, k FROM v").collect() == []
