"""An object that fails is suspended with its dependents; the others go on, and it catches up."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.api import Floodmark
from floodmark.errors import UserError
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    PROJECTED,
    READINGS,
    REGROUPED,
    Site,
    contents,
    put,
    readings,
    tables,
)

pytestmark = pytest.mark.spark


def _write_into(table: Path) -> None:
    """Append the table's own rows to it, as somebody with another engine might."""
    write_deltalake(str(table), DeltaTable(str(table)).to_pyarrow_table(), mode="append")


def _positions(fm: Floodmark) -> dict[str, int]:
    return {key: record.position for key, record in fm.status().items()}


def _epoch(site: Site, fm: Floodmark, number: int) -> None:
    put(site.landing, str(number), readings(number * 10, 10))
    fm.advance(now=NOW)


def test_a_suspended_view_catches_up_what_it_missed(site: Site) -> None:
    site.define(READINGS, NAMES, PROJECTED, JOINED, GROUPED, REGROUPED)
    put(site.landing, "0", readings(0, 10))
    for name in ("undisturbed", "warehouse"):
        with site.connect(name) as fm:
            fm.execute("INSERT INTO d VALUES ('a', 'Alpha')")
            fm.advance(now=NOW)
    table = site.root / "warehouse" / "_rows" / "public" / "st"
    before = DeltaTable(str(table)).version()
    _write_into(table)
    with site.connect() as fm:
        for number in (1, 2, 3):
            _epoch(site, fm, number)
        head = fm.warehouse.log.head().sealed
        positions = _positions(fm)
        assert {k for k, p in positions.items() if p < head} == {"st", "st2"}
        assert positions["st"] == head - 3
        event = fm.warehouse.log.suspensions()["st"]
        assert event.code == "E0420" and "version" in event.message
        for name, cause in (("st", "E0420"), ("st2", "st, which is suspended")):
            with pytest.raises(UserError, match=cause) as again:
                fm.execute(f"ALTER MATERIALIZED VIEW {name} RESUME")
            assert again.value.code == "E0383"
            assert (
                again.value.hint == "restore that version, then ALTER MATERIALIZED VIEW st RESUME"
            )
        assert "st" in fm.warehouse.log.suspensions()
        assert _positions(fm)["st"] == head - 3
        DeltaTable(str(table)).restore(before)
        fm.execute("ALTER MATERIALIZED VIEW st RESUME")
        assert not fm.warehouse.log.suspensions()
        assert len(set(_positions(fm).values())) == 1
        _epoch(site, fm, 4)
    with site.connect("undisturbed") as fm:
        fm.advance(now=NOW)
    _assert_same(site.root / "warehouse", site.root / "undisturbed")


def _assert_same(found: Path, expected: Path) -> None:
    """Compare all rows but for the epochs that wrote them, which differ in number."""
    assert tables(found) == tables(expected)
    for table in tables(found):
        if not table.startswith(("_changes", "_dead_letter")):
            one, two = (contents(root, table, hidden=False) for root in (found, expected))
            assert sorted(map(repr, one.to_pylist())) == sorted(map(repr, two.to_pylist())), table
