"""Rows with keys are found in files as a look at every row finds them."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.limits import LIMITS, Limits
from floodmark.storage.files.key_search import FileColumn, copy_rows, distinct_values, holds_any

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [None, 0, -1, 2**62, *range(10, 30)],
    pa.string(): [None, "", "a", "A", "ä", "a much longer text that is no key"],
    pa.date32(): [None, date(1970, 1, 1), date(2024, 2, 29)],
    pa.timestamp("us"): [None, datetime(1969, 12, 31, 23), datetime(2024, 2, 29, 1, 2, 3, 4)],
    pa.decimal128(15, 2): [None, Decimal("0.00"), Decimal("-1.25"), Decimal("9999999999999.99")],
    pa.bool_(): [None, True, False],
    pa.binary(): [None, b"", b"\x00", b"a"],
}
Row = tuple[Any, ...]


@pytest.mark.parametrize("seed", range(40))
def test_the_rows_with_a_key_in_each_column_are_copied(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    limits = Limits(
        rewrite_group_rows=rng.choice([1, 3, 64]),
        rewrite_group_bytes=rng.choice([1, 2**20]),
        search_share=1,
    )
    types = [rng.choice(list(VALUES)) for _ in range(rng.randint(1, 4))]
    names = [f"c{i}" for i in range(len(types))]
    files = [_rows(rng, types) for _ in range(rng.randint(1, 3))]
    paths = [_write(tmp_path / f"{i}.parquet", rows, types, rng) for i, rows in enumerate(files)]
    columns = rng.sample(names, rng.randint(1, len(names)))
    keys, wanted = {}, {}
    for name in columns:
        type_ = types[names.index(name)]
        wanted[name] = set(rng.sample(VALUES[type_], rng.randint(1, 2)))
        keys[name] = pa.array(list(wanted[name]), type_)
    chosen = rng.sample(names, rng.randint(1, len(names)))

    def has(row: Row) -> bool:
        return all(row[names.index(name)] in wanted[name] for name in columns)

    found = [row for rows in files for row in rows if has(row)]
    target = tmp_path / "found" / "rows.parquet"
    assert copy_rows(paths, chosen, keys, str(target), limits) == len(found)
    assert [holds_any(path, keys, limits) for path in paths] == [
        any(map(has, rows)) for rows in files
    ]
    assert target.exists() == bool(found)
    if found:
        copied = pq.read_table(target)
        assert copied.column_names == chosen
        assert copied.schema.types == [types[names.index(name)] for name in chosen]
        places = [names.index(name) for name in chosen]
        assert _listed(copied) == [tuple(row[place] for place in places) for row in found]


def test_values_are_those_of_all_files_once(tmp_path: Path) -> None:
    rng = random.Random(1)
    one = _write(tmp_path / "a.parquet", [(1, "x"), (None, "y"), (2, "x")], _types(2), rng)
    two = _write(tmp_path / "b.parquet", [(2, "z"), (3, "1")], _types(2), rng)
    numbers = distinct_values([FileColumn("c0", (one, two))])
    assert numbers is not None
    assert sorted(numbers.to_pylist(), key=repr) == [1, 2, 3, None]
    assert distinct_values([FileColumn("c0", (one,)), FileColumn("c1", (two,))]) is None
    assert distinct_values([FileColumn("c9", (one,))]) is None
    assert distinct_values([]) is None


def test_files_that_are_not_alike_are_left_to_others(tmp_path: Path) -> None:
    rng = random.Random(1)
    one = _write(tmp_path / "a.parquet", [(1, "x")], _types(2), rng)
    other = _write(tmp_path / "b.parquet", [("x", 1)], _types(2)[::-1], rng)
    target, keys = str(tmp_path / "c.parquet"), {"c0": pa.array([1], pa.int64())}
    assert copy_rows([one, other], ["c0"], keys, target, LIMITS) is None
    assert copy_rows([one], ["c0", "c7"], keys, target, LIMITS) is None
    assert copy_rows([one], ["c1"], {"c7": keys["c0"]}, target, LIMITS) is None
    assert copy_rows([one], ["c1"], {"c0": pa.array([1], pa.int32())}, target, LIMITS) is None
    assert copy_rows([], ["c1"], keys, target, LIMITS) is None
    assert not Path(target).exists()
    assert holds_any(other, keys, LIMITS) and holds_any(one, {"c7": keys["c0"]}, LIMITS)


def test_where_most_rows_have_a_key_others_read_them(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [(k % 4, "x") for k in range(40)]
    path = _write(tmp_path / "a.parquet", rows, _types(2), rng)
    target, keys = str(tmp_path / "c.parquet"), {"c0": pa.array([1], pa.int64())}
    assert copy_rows([path], ["c0"], keys, target, Limits(search_share=5)) is None
    assert copy_rows([path], ["c0"], keys, target, Limits(search_share=4)) == 10


def _types(count: int) -> list[pa.DataType]:
    return [pa.int64(), pa.string()][:count]


def _rows(rng: random.Random, types: list[pa.DataType]) -> list[Row]:
    return [tuple(rng.choice(VALUES[t]) for t in types) for _ in range(rng.randint(0, 200))]


def _write(path: Path, rows: list[Row], types: list[pa.DataType], rng: random.Random) -> str:
    columns = [pa.array([row[i] for row in rows], t) for i, t in enumerate(types)]
    table = pa.Table.from_arrays(columns, [f"c{i}" for i in range(len(types))])
    coded = rng.choice([True, False, ["c0"]])
    pq.write_table(table, path, row_group_size=rng.choice([7, 50, 1000]), use_dictionary=coded)
    return str(path)


def _listed(table: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
