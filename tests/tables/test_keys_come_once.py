"""Keys in files that come once each, as this process tells: it says what their values say."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet as pq

from floodmark.limits import LIMITS, Limits
from floodmark.scalar.types import BIGINT, DOUBLE, VARCHAR, Field
from floodmark.tables import key_uniqueness

COLUMNS = (Field("g", VARCHAR), Field("k", BIGINT), Field("x", DOUBLE))
Key = tuple[int | None, str | None]


def _written(folder: Path, parts: list[list[Key]]) -> list[str]:
    paths = []
    for number, part in enumerate(parts):
        paths.append(str(folder / f"{number}.parquet"))
        columns = [pa.array([g for _, g in part], pa.string()), [0.5] * len(part)]
        table = pa.table([pa.array([k for k, _ in part], pa.int64()), *columns], ["k", "g", "x"])
        pq.write_table(table, paths[-1])
    return paths


_KEYS = st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from(["", "a", "b"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(_KEYS, max_size=4), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_what_is_told_is_so(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[Key]], in_order: bool, holds: bool
) -> None:
    keys = [key for part in parts for key in part]
    if in_order:
        ordered = sorted(keys, key=repr)
        parts = [[ordered.pop(0) for _ in part] for part in parts]
    paths = _written(tmp_path_factory.mktemp("keys"), parts)
    limits = LIMITS if holds else Limits(unique_bytes=0)
    told = key_uniqueness.each_once(paths, COLUMNS, ("k", "g"), limits)
    assert told is (len(set(keys)) == len(keys)) or (told is None and not holds)


@pytest.mark.parametrize("rows", [200_000, 70_000])
def test_keys_in_order_need_no_room(tmp_path: Path, rows: int) -> None:
    limits = Limits(unique_bytes=1_000)
    keys: list[Key] = [(i // 2, "ab"[i % 2]) for i in range(rows)]
    paths = _written(tmp_path, [keys[:100_000], [], keys[100_000:]])
    assert key_uniqueness.each_once(paths, COLUMNS, ("k", "g"), limits) is True
    # In the order of other columns, or with a key twice, they are not.
    assert key_uniqueness.each_once(paths, COLUMNS, ("g", "k"), limits) is None
    assert key_uniqueness.each_once([*paths, paths[0]], COLUMNS, ("k", "g"), limits) is None


@pytest.mark.parametrize("at", [0, 65_535, 65_536, 99_999])
def test_a_key_that_comes_twice_is_found_wherever_it_is(tmp_path: Path, at: int) -> None:
    keys: list[Key] = [(i, "a") for i in range(100_000)]
    keys.insert(at, (at, "a"))
    assert (
        key_uniqueness.each_once(_written(tmp_path, [keys]), COLUMNS, ("k", "g"), limits=LIMITS)
        is False
    )


def test_what_compares_otherwise_in_spark_is_not_told(tmp_path: Path) -> None:
    assert (
        key_uniqueness.each_once(_written(tmp_path, [[(1, "a")]]), COLUMNS, ("x",), limits=LIMITS)
        is None
    )


def test_files_whose_types_differ_are_not_told(tmp_path: Path) -> None:
    values: list[Any] = [[1, 2], [Decimal("1.0")]]
    for number, each in enumerate(values):
        pq.write_table(pa.table({"k": each}), tmp_path / f"{number}.parquet")
    paths = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    assert key_uniqueness.each_once(paths, (Field("k", BIGINT),), ("k",), limits=LIMITS) is None
