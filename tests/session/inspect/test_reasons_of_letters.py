"""The reasons of dead letters are counted in a sample of bounded size. No Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from floodmark.changelog import ERROR, WEIGHT
from floodmark.limits import Limits
from floodmark.session.inspect import dead_letters


def letters(path: Path, why: str, count: int) -> str:
    error = {"code": 621, "expression": why, "message": None}
    pq.write_table(pa.table({WEIGHT: [1] * count, ERROR: [error] * count}), path)
    return str(path)


def test_no_more_letters_are_looked_at_than_a_sample(tmp_path: Path) -> None:
    limits = Limits(letters=12, letters_piece=5)
    paths = [letters(tmp_path / "old", "a / b", 9), letters(tmp_path / "new", "c / d", 40)]
    store: Any = SimpleNamespace(paths=lambda handle: paths)
    table: Any = None
    assert dead_letters.frequent(store, table, limits=limits) == [("E0621 c / d", 12)]
    paths[1] = letters(tmp_path / "new", "c / d", 4)
    assert dead_letters.frequent(store, table, limits=limits) == [
        ("E0621 a / b", 8),
        ("E0621 c / d", 4),
    ]
