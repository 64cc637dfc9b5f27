"""Several processes on one warehouse, and writers that are not the engine."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.errors import TransientError
from tests.warehouses import GROUPED, NOW, PROJECTED, READINGS, SUNK, Site, put, readings, visible

pytestmark = pytest.mark.spark


def test_two_processes_share_the_epochs(site: Site) -> None:
    site.define(READINGS.replace("path =", "max_rows_per_epoch = 10, path ="), GROUPED, SUNK)
    for number in range(4):
        put(site.landing, str(number), readings(number * 10, 10))
    with site.connect():
        pass
    processes = [site.start(), site.start()]
    for process in processes:
        ended = process.ended()
        assert ended.returncode == 0, ended.stdout + ended.stderr
    root = site.root / "warehouse"
    ids = [row[0] for row in visible(root, "s")]
    assert len(set(ids)) == len(ids)
    counts = dict(row[:2] for row in visible(root, "st"))
    assert sum(counts.values()) == len(ids)
    assert {k: n for k, n, _ in visible(root, "t")} == counts
    with site.connect() as fm:
        assert not fm.has_new()
        records = [fm.warehouse.log.seal_record(e).objects["s"] for e in range(2, 6)]
        assert sum(r.rows_in for r in records) == 40


def test_who_waits_too_long_hears_who_holds_the_lease(site: Site) -> None:
    site.define(READINGS)
    put(site.landing, "0", readings(0, 5))
    with site.connect() as first, site.connect(wait=0.2) as second:
        with (
            first.loop.hold("something long"),
            pytest.raises(TransientError, match="was not free") as raised,
        ):
            second.advance(now=NOW)
        assert raised.value.code == "E0503"
        assert "something long" in str(raised.value) and "process" in str(raised.value)
        assert len(second.advance(now=NOW)) == 1


@pytest.mark.parametrize("table", ["_rows/public/st", "_rows/public/p", "_changes/public/st"])
def test_rows_that_somebody_else_wrote_suspend_the_object(site: Site, table: str) -> None:
    site.define(READINGS, GROUPED, PROJECTED)
    put(site.landing, "0", readings(0, 10))
    with site.connect() as fm:
        fm.advance(now=NOW)
        folder = str(site.root / "warehouse" / table)
        write_deltalake(folder, DeltaTable(folder).to_pyarrow_table(), mode="append")
        put(site.landing, "1", readings(10, 10))
        (epoch,) = fm.advance(now=NOW)
        (name,) = epoch.suspended
        assert name == table.rsplit("/", 1)[1]
        assert "somebody else wrote" in epoch.suspended[name]
        assert fm.warehouse.log.suspensions()[name].code == "E0420"


def test_merging_files_is_not_somebody_elses_data(site: Site) -> None:
    site.define(READINGS, GROUPED, PROJECTED)
    with site.connect() as fm:
        for number in (0, 1):
            put(site.landing, str(number), readings(number * 10, 10))
            fm.advance(now=NOW)
        for name in ("st", "p"):
            DeltaTable(str(site.root / "warehouse" / "public" / name)).optimize.compact()
        put(site.landing, "2", readings(20, 10))
        (epoch,) = fm.advance(now=NOW)
        assert not epoch.suspended
    with site.connect("another") as fm:
        fm.advance(now=NOW)
    for name in ("st", "p"):
        found, expected = (visible(site.root / w, name) for w in ("warehouse", "another"))
        assert found == expected
