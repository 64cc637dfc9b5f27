"""Refreshes of TPC-H change the rows that they say: a share of them, spread by a hash."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from deltalake import DeltaTable

from benchmarks.tpch.lake import Lake
from tests.benchmarks import tpch_files

SCALE, SHARE = 0.001, 0.1


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Yield the tables before any refresh."""
    folder = tmp_path_factory.mktemp("tpch")
    tpch_files.write(folder / "files", SCALE)
    with Lake(folder / "files", folder / "lake") as lake:
        yield lake


def column(lake: Lake, table: str, *names: str) -> list[tuple]:
    """Return the sorted values of columns of a table."""
    found = DeltaTable(str(lake.folder / table)).to_pyarrow_table(columns=list(names))
    return sorted(zip(*(found[name].to_pylist() for name in names), strict=True))


def orders_and_lines(lake: Lake) -> tuple[set[int], list[tuple]]:
    """Return the keys of orders, and of lines, after seeing that none comes twice."""
    orders = column(lake, "orders", "o_orderkey")
    lines = column(lake, "lineitem", "l_orderkey", "l_linenumber")
    assert len(set(orders)) == len(orders) and len(set(lines)) == len(lines)
    return {key for (key,) in orders}, lines


def test_orders_come_and_go_with_their_lines(lake: Lake) -> None:
    before, lines = orders_and_lines(lake)
    for _ in range(2):
        for kind in ("insert", "delete"):
            changed = lake.refresh(kind, SHARE)
            assert changed["orders"] == pytest.approx(SHARE * len(before), rel=0.2)
            assert changed["lineitem"] == pytest.approx(SHARE * len(lines), rel=0.3)
    after, lines = orders_and_lines(lake)
    assert len(after) == pytest.approx(len(before), rel=0.05)
    assert len(after - before) == pytest.approx(2 * SHARE * len(before), rel=0.2)
    assert {key for key, _ in lines} == after


def test_updates_change_lines_and_two_dimensions(lake: Lake) -> None:
    tables = {"lineitem": "l_extendedprice", "customer": "c_nationkey", "part": "p_retailprice"}
    sizes = {table: len(column(lake, table, name)) for table, name in tables.items()}
    before = {table: column(lake, table, name) for table, name in tables.items()}
    changed = lake.refresh("update", SHARE)
    assert changed.keys() == tables.keys()
    for table, name in tables.items():
        assert changed[table] == pytest.approx(SHARE * sizes[table], rel=0.3)
        assert column(lake, table, name) != before[table]


def test_no_row_is_chosen_twice(lake: Lake) -> None:
    lake.refresh("update", 0.5)
    with pytest.raises(ValueError, match=r"no 50\.0% of the rows are left"):
        lake.refresh("update", 0.5)
