"""What is left out of looking at each row for late ones is left out only where none is late."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.connect.session import SparkSession

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.connectors.base import Split
from floodmark.connectors.files import parquet as files_parquet
from floodmark.dataflow.intake import late_row_pruning
from floodmark.limits import LIMITS
from floodmark.plan.declaration import WatermarkInfo
from floodmark.plan.declare.definitions import declare_columns
from floodmark.sql.parse import parse_script

START = datetime(2024, 1, 1)
DELAY = timedelta(seconds=5)


def watermark() -> WatermarkInfo:
    (statement,) = parse_script(
        "CREATE SOURCE s (ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') "
        "WITH (connector = 'files', path = 's') FORMAT PLAIN ENCODE PARQUET"
    )
    found = Catalog().create(statement, Origin.FILE)  # type: ignore[arg-type]
    (mark,) = declare_columns(found.objects["s"]).watermarks
    return mark


def is_late(rows: list[tuple[int, int, datetime | None]], before: datetime | None) -> bool:
    """Tell, row by row, whether one is below the watermark of those before it."""
    reached: dict[int, datetime | None] = {}
    for partition, _, at in sorted(rows, key=lambda r: r[:2]):
        if at is None:
            continue
        bound = reached.get(partition, before)
        if bound is not None and at < bound:
            return True
        reached[partition] = at - DELAY if bound is None else max(bound, at - DELAY)
    return False


def drawn_rows(
    drawn: random.Random, spread: float, partitions: int
) -> list[tuple[int, int, datetime | None]]:
    """Return partition, offset and time of rows whose times lag by up to `spread` seconds."""
    rows: list[tuple[int, int, datetime | None]] = []
    for partition in range(partitions):
        for offset in range(60):
            at = START + timedelta(seconds=offset / 3 - drawn.uniform(0, spread))
            rows.append((partition, offset, None if drawn.random() < 0.05 else at))
    return rows


def test_pieces_in_order_have_no_late_row() -> None:
    mark, drawn = watermark(), random.Random(11)
    told = {True: 0, False: 0}
    for spread in (0, 1, 3, 4, 6, 8) * 20:
        rows = drawn_rows(drawn, spread, 1)
        before = drawn.choice((None, START - timedelta(seconds=spread), START))
        size = drawn.choice((1, 4, 60))
        times = [[at for *_, at in rows[i : i + size] if at] for i in range(0, 60, size)]
        pieces = [(min(piece), max(piece)) for piece in times if piece]
        on = late_row_pruning.has_no_late_row(pieces, mark, before, START)
        assert not (on and is_late(rows, before))
        told[on] += 1
    assert min(told.values()) >= 20, told


def test_pieces_of_files(tmp_path: Path) -> None:
    times = [START + timedelta(seconds=i) for i in range(3000)]
    table = pa.table({"ts": pa.array([*times[:1500], None, *times[1501:]], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"ts": pa.array([None] * 5, pa.timestamp("us"))}), tmp_path / "b.parquet"
    )
    splits = [
        Split(0, 3000, 3005, 5, {"file": "b.parquet", "row": 0}),
        Split(0, 10, 3000, 2990, {"file": "a.parquet", "row": 10}),
    ]
    found = files_parquet.pieces_of(tmp_path, splits, "ts", LIMITS)
    assert found is not None and len(found) == 1495
    assert found[0] == (times[10], times[11]) and found[-1] == (times[2998], times[2999])
    assert [low for low, _ in found] == [
        times[1501 if i == 1500 else i] for i in range(10, 3000, 2)
    ]
    assert files_parquet.pieces_of(tmp_path, splits, "other", LIMITS) is None
    typed = [replace(splits[1], payload={**splits[1].payload, "types": {"ts": "string"}})]
    assert files_parquet.pieces_of(tmp_path, typed, "ts", LIMITS) is None


def test_pieces_of_a_slice_of_row_groups_in_another_zone(tmp_path: Path) -> None:
    times = [START.replace(tzinfo=UTC) + timedelta(seconds=i) for i in range(100)]
    column = pa.array(times, pa.timestamp("ms", "America/New_York"))
    pq.write_table(pa.table({"ts": column}), tmp_path / "a.parquet", row_group_size=10)
    split = Split(0, 1025, 1050, 25, {"file": "a.parquet", "row": 25})
    found = files_parquet.pieces_of(tmp_path, [split], "ts", LIMITS)
    assert found == [(time, time) for time in times[25:50]]
    assert found[0][0].utcoffset() == timedelta(0)


def test_nothing_is_told_of_times_beyond_the_years_of_python(tmp_path: Path) -> None:
    times = pa.array([0, 400_000_000_000_000_000], pa.timestamp("us"))
    pq.write_table(pa.table({"ts": times}), tmp_path / "a.parquet")
    splits = [Split(0, 0, 2, 2, {"file": "a.parquet", "row": 0})]
    assert files_parquet.bounds_of(tmp_path, splits, "ts") is None
    assert files_parquet.pieces_of(tmp_path, splits, "ts", LIMITS) is None


@pytest.mark.spark
def test_a_watermark_is_left_out_only_where_no_row_is_late(spark: SparkSession) -> None:
    mark, drawn = watermark(), random.Random(7)
    told = {True: 0, False: 0}
    for spread in (0, 1, 3, 4, 6, 8) * 4:
        rows = drawn_rows(drawn, spread, 2)
        before = drawn.choice((None, START - timedelta(seconds=spread), START))
        drawn.shuffle(rows)
        frame = spark.createDataFrame(rows, "__partition INT, __offset BIGINT, ts TIMESTAMP_NTZ")
        marks = {} if before is None else {"ts": before}
        kept = bool(late_row_pruning.possibly_late(frame, (mark,), marks, 0, 8))
        assert kept or not is_late(rows, before)
        told[kept] += 1
    assert min(told.values()) >= 4, told
