"""Files of random rows: `id BIGINT, k BIGINT, ts TIMESTAMP, v INT`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import count
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
    for number in count():
        keys = np.random.default_rng(number).integers(0, key_space, ROWS)
        yield _numbered(folder, number, first_id + number * ROWS, keys)


def local_files(folder: Path, first_id: int) -> Iterator[Path]:
    """Yield files of 1,000 rows with keys that grow as time does, ten rows of each."""
    for number in count():
        start = first_id + number * ROWS
        yield _numbered(folder, number, start, local_keys(start, ROWS))


def local_keys(first_id: int, rows: int) -> np.ndarray:
    """Return the keys of rows from a number on: ten rows in a row have one key."""
    return np.arange(first_id, first_id + rows, dtype=np.int64) // 10


def _numbered(folder: Path, number: int, first_id: int, keys: np.ndarray) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"part-{number:05d}.parquet"
    write(path, first_id, keys, number)
    return path


def large_file(folder: Path, keys: int) -> Path:
    """Write one file that has every key once, in random order."""
    return history_file(folder, np.random.default_rng(7).permutation(keys))


def history_file(folder: Path, keys: np.ndarray) -> Path:
    """Write one file of what was before, a row per key."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "history.parquet"
    write(path, 0, keys, 7)
    return path
