"""Both stores, and a writer of Parquet that stands where Spark stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.scalar.types import BIGINT, VARCHAR, Field
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.stores.memory import MemoryStore
from floodmark.storage.table import DataFile, Store

SCHEMA = (Field("k", BIGINT, nullable=False), Field("s", VARCHAR))
Writer = Callable[..., tuple[DataFile, ...]]


@pytest.fixture(params=[DeltaStore, MemoryStore], ids=["delta", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return request.param(tmp_path / "warehouse")


@pytest.fixture
def write(store: Store) -> Writer:
    """Stage rows of SCHEMA, one file per list."""

    def stage(table: str, epoch: int, *files: list[tuple[int, str | None]], attempt: int = 0):
        return write_rows(store, table, epoch, *files, attempt=attempt)

    return stage


def write_rows(store: Any, table: str, epoch: int, *files: Any, attempt: int = 0):
    folder = Path(store.stage(table, epoch, attempt))
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    for i, rows in enumerate(files):
        data = pa.table(
            {
                "k": pa.array([r[0] for r in rows], pa.int64()),
                "s": pa.array([r[1] for r in rows], pa.string()),
            }
        )
        pq.write_table(data, folder / f"part-{i:05d}.snappy.parquet")
    return store.list_stage(table, epoch, attempt)
