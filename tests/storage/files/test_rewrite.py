"""Few current rows are rewritten in this process as Spark would."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings, strategies as st

from floodmark.limits import LIMITS, Limits
from floodmark.scalar.types import BIGINT, DOUBLE, VARCHAR, Field
from floodmark.storage.files import rewrite
from floodmark.storage.table import DataFile

KEYS = st.tuples(
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, "", "a", "b"]),
    st.sampled_from([None, date(1969, 12, 31), date(2024, 2, 29)]),
    st.sampled_from([None, Decimal("1.50"), Decimal("-0.01")]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, datetime(2024, 1, 1, 0, 0, 0, 1)]),
)
TYPES = [
    pa.int32(), pa.string(), pa.date32(), pa.decimal128(10, 2), pa.bool_(), pa.timestamp("us"),
]  # fmt: skip
NAMES = ["a", "b", "c", "d", "e", "f"]


def _file(path: Path, rows: list[tuple[Any, ...]], names: list[str], types: list[Any]) -> str:
    schema = pa.schema(list(zip(names, types, strict=True)))
    table = pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows], schema=schema
    )
    pq.write_table(table, path)
    return str(path)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(KEYS, st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=12),
    st.dictionaries(KEYS, st.sampled_from(["+I", "-D", "U", "S"]), max_size=12),
    st.integers(1, 6),
    st.sampled_from([1, 2**20]),
    st.sampled_from([1, 3, 4096]),
)
def test_rows_are_those_of_the_keys_that_stay_and_the_new_ones(
    tmp_path_factory: Any,
    stored: dict[tuple[Any, ...], tuple[int, int]],
    wanted: dict[tuple[Any, ...], str],
    width: int,
    small: int,
    apart: int,
) -> None:
    folder = tmp_path_factory.mktemp("rewrite")
    short = {k[:width]: v for k, v in stored.items()}
    changes: list[tuple[str, tuple[Any, ...]]] = []
    after = {k: (v, 1) for k, (v, _) in short.items()}
    for long, kind in wanted.items():
        key = long[:width]
        if any(c[1][:width] == key for c in changes):
            continue
        if key not in short:
            changes.append(("+I", (*key, 9)))
            after[key] = (9, 7)
        elif kind in ("+I", "-D"):
            changes.append(("-D", (*key, short[key][0])))
            del after[key]
        else:
            changes += [(f"-{kind}", (*key, short[key][0])), (f"+{kind}", (*key, 9))]
            after[key] = (9, 7)
    names, types = [*NAMES[:width], "v"], [*TYPES[:width], pa.int64()]
    paths = [
        _file(folder / f"s{i}.parquet", [(*k, v, 1) for k, (v, f) in short.items() if f == i],
              [*names, "__epoch"], [*types, pa.int64()])
        for i in (0, 1)
    ]  # fmt: skip
    told = _file(
        folder / "c.parquet", [(*row, kind, 7) for kind, row in changes],
        [*names, "__kind", "__epoch"], [*types, pa.string(), pa.int64()],
    )  # fmt: skip
    limits = Limits(rewrite_file_bytes=small, rewrite_group_rows=3, rewrite_apart_rows=apart)
    out = str(folder / "out")
    assert rewrite.rewrite(paths, [told], names, NAMES[:width], 7, out, limits)
    written = [pq.read_table(p) for p in (folder / "out").glob("*.parquet")]
    got = [tuple(r.values()) for part in written for r in part.to_pylist()]
    assert Counter(got) == Counter((*k, *v) for k, v in after.items())


def test_what_spark_compares_its_own_way_is_left_to_spark() -> None:
    few = [DataFile("a", 10, 1, {}, {}, {})]
    many = [DataFile("a", 2**23, 1, {}, {}, {})]
    assert rewrite.is_small(few, few, (Field("k", BIGINT), Field("t", VARCHAR)), limits=LIMITS)
    assert rewrite.is_small(many, few, (Field("k", BIGINT),), limits=LIMITS)
    assert not rewrite.is_small(few, few, (Field("k", DOUBLE),), limits=LIMITS)
    assert not rewrite.is_small(few, many, (Field("k", BIGINT),), limits=LIMITS)
    assert not rewrite.is_small(many * 9, few, (Field("k", BIGINT),), limits=LIMITS)


def test_many_rows_of_new_keys_are_apart(tmp_path: Path) -> None:
    names, types = ["a", "v", "__epoch"], [pa.int64()] * 3
    stored = _file(tmp_path / "s.parquet", [(i, 0, 1) for i in range(10)], names, types)
    moved = [(9, 0, "-U"), (9, 1, "+U"), *((i, 1, "+I") for i in range(10, 14))]
    told = _file(tmp_path / "c.parquet", moved, ["a", "v", "__kind"], [*types[:2], pa.string()])
    for apart, files in ((4, [[*range(10)], [*range(10, 14)]]), (5, [[*range(14)]])):
        out = tmp_path / f"out{apart}"
        limits = Limits(rewrite_apart_rows=apart)
        assert rewrite.rewrite([stored], [told], ["a", "v"], ["a"], 7, str(out), limits)
        written = [pq.read_table(p).column("a").to_pylist() for p in out.glob("*.parquet")]
        assert sorted(sorted(each) for each in written) == files


def test_files_of_other_types_are_left_to_spark(tmp_path: Path) -> None:
    stored = _file(tmp_path / "s.parquet", [(1, 2, 1)], ["a", "v", "__epoch"], [pa.int32()] * 3)
    told = _file(
        tmp_path / "c.parquet", [(1, 2, "-D")], ["a", "v", "__kind"],
        [pa.int64(), pa.int32(), pa.string()],
    )  # fmt: skip
    assert not rewrite.rewrite(
        [stored], [told], ["a", "v"], ["a"], 7, str(tmp_path / "out"), LIMITS
    )
    assert not (tmp_path / "out").exists()


def test_bounds_that_nan_is_not_in_are_not_written(tmp_path: Path) -> None:
    types = [pa.int32(), pa.float64(), pa.int64()]
    stored = _file(
        tmp_path / "s.parquet", [(1, 1.0, 1), (2, float("nan"), 1)], ["a", "v", "__epoch"], types
    )
    told = _file(
        tmp_path / "c.parquet", [(3, 0.5, "+I")], ["a", "v", "__kind"], [*types[:2], pa.string()]
    )
    assert rewrite.rewrite([stored], [told], ["a", "v"], ["a"], 7, str(tmp_path / "out"), LIMITS)
    (path,) = (tmp_path / "out").glob("*.parquet")
    group = pq.read_metadata(path).row_group(0)
    assert [group.column(i).is_stats_set for i in range(3)] == [True, False, True]
