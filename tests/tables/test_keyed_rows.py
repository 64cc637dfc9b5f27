"""Who reads the rows of a table that have keys: this process, or Spark, and which files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.limits import Limits
from floodmark.scalar.types import BIGINT, DOUBLE, Field
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.table import DataFile, Handle
from floodmark.tables.keyed_rows import Narrow

COLUMNS = (Field("k", BIGINT), Field("v", BIGINT), Field("d", DOUBLE))
ROWS = {"a": [1, 2, 3], "b": [2, None, 3]}


@dataclass
class _Tables:
    """Reads nothing: it tells which files Spark was asked for, and which rows were found."""

    folder: Path
    limits: Limits
    asked: list[Any] = field(default_factory=list)

    @property
    def store(self) -> _Tables:
        return self

    def paths(self, handle: Handle, files: list[DataFile]) -> list[str]:
        return [str(self.folder / file.path) for file in files]

    def read(self, handle: Handle, columns: Any, files: list[DataFile]) -> str | None:
        self.asked.append([file.path for file in files])
        return "read" if files else None

    def read_paths(self, paths: list[str], columns: Any) -> list[int]:
        (path,) = paths
        found: list[int] = pq.read_table(path).column("k").to_pylist()
        return found

    def new_file(self) -> str:
        return str(self.folder / "found" / "rows.parquet")


@dataclass
class _Case:
    tables: _Tables
    handle: Handle

    def rows(self, keys: list[int | None], column: str = "k", *, scratch: bool = True) -> Any:
        written = self.tables.folder / "keys.parquet"
        type_ = pa.int64() if column == "k" else pa.float64()
        pq.write_table(pa.table({column: pa.array(keys, type_)}), written)
        places = (FileColumn(column, (str(written),)),)
        place = self.tables if scratch else None
        narrow = Narrow(COLUMNS, written={column: places}, scratch=place)  # type: ignore[arg-type]
        return narrow.load_rows(self.tables, self.handle, COLUMNS, None)  # type: ignore[arg-type]


@pytest.fixture
def case(tmp_path: Path) -> _Case:
    files = []
    for name, values in ROWS.items():
        path = tmp_path / f"{name}.parquet"
        columns = [pa.array(values, pa.int64())] * 2 + [pa.array([0.5] * 3)]
        pq.write_table(pa.table(columns, names=["k", "v", "d"]), path)
        files.append(DataFile(path.name, path.stat().st_size, 3))
    limits = Limits(search_share=1)
    return _Case(_Tables(tmp_path, limits), Handle("t", 1, COLUMNS, tuple(files), {}))


def test_rows_are_found_here(case: _Case) -> None:
    assert case.rows([3, 9]) == [3, 3]
    assert case.rows([None]) == [None]
    assert case.rows([9]) is None
    assert not case.tables.asked


@pytest.mark.parametrize("limits", [Limits(search_bytes=0, search_share=1), Limits()])
def test_of_larger_tables_spark_reads_the_files_with_a_key(case: _Case, limits: Limits) -> None:
    case.tables.limits = limits
    for keys in ([1], [2], [9]):
        case.rows(keys)
    # Where a third of the rows has a key, Spark reads the files, too.
    assert case.tables.asked[:2] == [["a.parquet"], ["a.parquet", "b.parquet"]]
    assert case.tables.asked[2:] == ([[]] if not limits.search_bytes else [])


def test_spark_reads_all_files_of_huge_tables(case: _Case) -> None:
    case.tables.limits = Limits(search_bytes=0, search_files_bytes=0)
    assert case.rows([9]) == "read"
    assert case.tables.asked == [["a.parquet", "b.parquet"]]


def test_who_has_no_place_for_rows_asks_spark_for_the_files(case: _Case) -> None:
    assert case.rows([1], scratch=False) == "read"
    assert case.tables.asked == [["a.parquet"]]


def test_what_spark_compares_otherwise_is_left_to_it(case: _Case) -> None:
    assert case.rows([0], "d") == "read"
    assert case.tables.asked == [["a.parquet", "b.parquet"]]


@pytest.mark.parametrize("damage", [b"", b"no Parquet", None])
def test_a_damaged_file_is_left_to_spark_which_tells(case: _Case, damage: bytes | None) -> None:
    path = case.tables.folder / "b.parquet"
    whole = path.read_bytes()
    path.unlink() if damage is None else path.write_bytes(damage)
    assert case.rows([2]) == "read"
    # A page that cannot be decoded.
    path.write_bytes(whole[:4] + bytes(60) + whole[64:])
    assert case.rows([2]) == "read"
    assert case.tables.asked == [["a.parquet", "b.parquet"]] * 2
