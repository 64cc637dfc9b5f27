"""Files of random rows: `id BIGINT, k BIGINT, ts TIMESTAMP, v INT`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 1_000
COLUMNS = "id BIGINT, k BIGINT, ts TIMESTAMP, v INT"
_START = np.datetime64(datetime(2025, 1, 1), "us")


def write(path: Path, first_id: int, keys: np.ndarray, seed: int) -> None:
    """Write one file, a row per key; its times are one second apart, from its first id on."""
    random = np.random.default_rng(seed)
    ids = np.arange(first_id, first_id + len(keys), dtype=np.int64)
    table = pa.table(
        {
            "id": ids,
            "k": keys.astype(np.int64),
            "ts": _START + ids.astype("timedelta64[s]"),
            "v": random.integers(0, 1_000, len(keys), dtype=np.int32),
        }
    )
    temporary = path.with_suffix(".writing")
    pq.write_table(table, temporary)
    temporary.rename(path)


def small_files(folder: Path, key_space: int, first_id: int = 0) -> Iterator[Path]:
    """Yield files of 1,000 random keys, each written when it is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    while True:
        keys = np.random.default_rng(number).integers(0, key_space, ROWS)
        path = folder / f"part-{number:05d}.parquet"
        write(path, first_id + number * ROWS, keys, number)
        yield path
        number += 1


def large_file(folder: Path, keys: int) -> Path:
    """Write one file that has every key once, in random order."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "history.parquet"
    write(path, 0, np.random.default_rng(7).permutation(keys), 7)
    return path
