"""What is left out of looking at each row for late ones is left out only where none is late."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest
from pyspark.sql.connect.session import SparkSession

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.plan.definitions import WatermarkInfo, declare_columns
from floodmark.runtime.operators import on_time
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


@pytest.mark.spark
def test_a_watermark_is_left_out_only_where_no_row_is_late(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_time, "_PIECE_BITS", 3)
    mark, drawn = watermark(), random.Random(7)
    told = {True: 0, False: 0}
    for spread in (0, 1, 3, 4, 6, 8) * 4:
        rows: list[tuple[int, int, datetime | None]] = []
        for partition in range(2):
            for offset in range(60):
                at = START + timedelta(seconds=offset / 3 - drawn.uniform(0, spread))
                rows.append((partition, offset, None if drawn.random() < 0.05 else at))
        before = drawn.choice((None, START - timedelta(seconds=spread), START))
        drawn.shuffle(rows)
        frame = spark.createDataFrame(rows, "__partition INT, __offset BIGINT, ts TIMESTAMP_NTZ")
        marks = {} if before is None else {"ts": before}
        kept = bool(on_time.possibly_late(frame, (mark,), marks, 0))
        assert kept or not is_late(rows, before)
        told[kept] += 1
    assert min(told.values()) >= 4, told
