"""The rows of Nexmark, dealt out to the readers of another system."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.nexmark.data import SIDE_INPUT, dealt
from benchmarks.nexmark.queries import STREAMS


def test_each_file_has_every_second_row_of_all_parts(tmp_path: Path) -> None:
    for table in (*STREAMS, SIDE_INPUT):
        (tmp_path / table).mkdir()
        for part, rows in enumerate(([0, 1, 2], [3, 4, 5, 6], [], [7])):
            column = pa.array(rows, pa.int64())
            pq.write_table(pa.table({"id": column}), tmp_path / table / f"part-{part}.parquet")
    folder = dealt(tmp_path, 2)
    for table in (*STREAMS, SIDE_INPUT):
        files = sorted((folder / table).iterdir())
        found = [pq.read_table(file)["id"].to_pylist() for file in files]
        assert found == [[0, 2, 3, 5, 7], [1, 4, 6]]
    written = files[0].stat().st_mtime_ns
    assert dealt(tmp_path, 2) == folder and files[0].stat().st_mtime_ns == written
