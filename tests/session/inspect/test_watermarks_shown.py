"""What `floodmark.watermarks` says: value, lag and what holds it, of every column."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.warehouses import Site

pytestmark = pytest.mark.spark

PIPELINE = """
CREATE SOURCE a (ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts, WATERMARK FOR n AS n - 5)
WITH (connector = 'files', path = '{landing}/a') FORMAT PLAIN ENCODE PARQUET;
CREATE SOURCE b (ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '1 minute')
WITH (connector = 'files', path = '{landing}/b') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE t (ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) APPEND ONLY;
CREATE SINK k INTO t AS SELECT ts, n FROM a;
CREATE MATERIALIZED VIEW u AS
SELECT ts FROM a UNION ALL SELECT ts FROM b UNION ALL SELECT ts FROM t;
CREATE MATERIALIZED VIEW c AS SELECT ts, count(*) AS n FROM t GROUP BY ts EMIT ON WINDOW CLOSE;
"""
SHOWN = 'SELECT object, "column", watermark, lag_s, held_by FROM floodmark.watermarks'


def _put(folder: Path, hour: int, minute: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    at = pa.array([datetime(2024, 1, 1, hour, minute)], pa.timestamp("us"))
    table = pa.table({"ts": at, "n": pa.array([7], pa.int32())})
    pq.write_table(table, folder / f"{hour:02}{minute:02}.parquet")


def test_every_column_with_a_watermark_is_there(site: Site) -> None:
    site.define(PIPELINE)
    for name in ("a", "b"):
        (site.landing / name).mkdir(parents=True)
    with site.connect() as fm:
        fm.clock.set(datetime(2024, 1, 1, 11, tzinfo=UTC))  # type: ignore[attr-defined]
        fm.advance()
        first = {row[:2]: row[2:] for row in fm.execute(SHOWN).rows}
        assert first["a", "n"] == (None, None, "connector")
        assert first["u", "ts"] == (None, None, "a, b, t")
        _put(site.landing / "a", 10, 30)
        _put(site.landing / "b", 10, 15)
        fm.advance()
        lags = {row[:2]: row[2:] for row in fm.execute(SHOWN).rows}
        assert {at: None if lag is None else round(lag) for at, (_, lag, _) in lags.items()} == {
            ("a", "ts"): 1800, ("a", "n"): None, ("b", "ts"): 2760, ("t", "ts"): 1800,
            ("u", "ts"): 2760, ("c", "ts"): 1800,
        }  # fmt: skip
        assert {at: (value, by) for at, (value, _, by) in lags.items()} == {
            ("a", "ts"): ("2024-01-01 10:30:00", "connector"),
            ("a", "n"): ("2", "connector"),
            ("b", "ts"): ("2024-01-01 10:14:00", "connector"),
            ("t", "ts"): ("2024-01-01 10:30:00", None),
            ("u", "ts"): ("2024-01-01 10:14:00", "b"),
            ("c", "ts"): ("2024-01-01 10:30:00", "t"),
        }
