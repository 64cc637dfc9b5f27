"""Letters that were taken back are not counted; none of it needs Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from floodmark.changelog import ERROR, WEIGHT
from floodmark.limits import LIMITS
from floodmark.session.inspect.dead_letters import count_letters, frequent
from floodmark.storage.delta.store import DeltaStore
from floodmark.tables.layout import DEAD_LETTER

TABLE = "_dead_letter/public/v"


def test_letters_that_were_taken_back_are_none(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    handle = store.create(TABLE, DEAD_LETTER)
    assert count_letters(store, handle) == 0
    for epoch, weights, remain in ((1, [1, 1, 1], 3), (2, [-1, 1, -1], 2), (3, [-1, -1], 0)):
        folder = Path(store.stage(TABLE, epoch, 0))
        folder.mkdir(parents=True)
        (folder / "_SUCCESS").touch()
        rows = pa.table({WEIGHT: pa.array(weights, pa.int32())})
        pq.write_table(rows, folder / "part-00000.snappy.parquet")
        handle = store.commit(handle, adds=store.list_stage(TABLE, epoch, 0))
        assert count_letters(store, handle) == remain


def test_times_too_far_ahead_are_one_reason(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    handle = store.create(TABLE, DEAD_LETTER)
    for epoch in (1, 2, 3):
        folder = Path(store.stage(TABLE, epoch, 0))
        folder.mkdir(parents=True)
        (folder / "_SUCCESS").touch()
        said = f"ts: '299{epoch}-01-01 00:00:00' is not up to 2024-01-01 0{epoch}:00:00"
        error = {"code": 658, "expression": "watermark.max_ahead", "message": said}
        rows = pa.table({WEIGHT: pa.array([1], pa.int32()), ERROR: pa.array([error])})
        pq.write_table(rows, folder / "part-00000.snappy.parquet")
        handle = store.commit(handle, adds=store.list_stage(TABLE, epoch, 0))
    assert frequent(store, handle, limits=LIMITS) == [("E0658 ts: '…' is not up to …", 3)]
