"""What expires after the retention, what stays because it is needed, and what is said of the rest.

The clock goes on by days; what is written carries the machine's time, so the clock begins with it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.api import Floodmark, connect
from floodmark.errors import DataError, UserError
from floodmark.testing import FixedClock
from tests.warehouses import GROUPED, NAMES, NOW, READINGS, Site, put, readings, visible

pytestmark = pytest.mark.spark
WEEK = timedelta(days=8)


def _connect(site: Site, clock: FixedClock) -> Floodmark:
    return connect(
        site.root / "warehouse", site.pipelines, clock=clock, sessions=lambda: site.sessions
    )


def _epoch(site: Site, fm: Floodmark, number: int) -> int:
    put(site.landing, str(number), readings(number * 20, 20))
    fm.advance()
    return fm.warehouse.log.head().sealed


def _files(root: Path) -> set[Path]:
    """Return the data files of the changes of `st`."""
    table = root / "_changes" / "public" / "st"
    return {p for p in table.rglob("*.parquet") if "_delta_log" not in p.parts}


def _epochs_in(root: Path, table: str) -> set[int]:
    return set(DeltaTable(str(root / table)).to_pyarrow_table()["__epoch"].to_pylist())


def test_what_is_old_expires_and_what_is_kept_reads_the_same(site: Site) -> None:
    site.define(READINGS, NAMES, GROUPED)
    clock = FixedClock(datetime.now(UTC))
    root = site.root / "warehouse"
    with _connect(site, clock) as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha')")
        early = [_epoch(site, fm, 0), _epoch(site, fm, 1)]
        assert _epochs_in(root, "_late/public/s") == set(early)
        assert not fm.needs_maintenance()
        written = _files(root)
        clock.set(clock.now() + WEEK)
        assert fm.needs_maintenance()
        young = [_epoch(site, fm, 2), _epoch(site, fm, 3)]
        expected = {e: _rows(fm, "SELECT * FROM st", e) for e in young}
        report = fm.maintain()
        assert report.oldest_epoch == young[0] and report.expired_files > 0
        assert not fm.needs_maintenance()
        assert _epochs_in(root, "_changes/public/st") == set(young)
        assert _epochs_in(root, "_late/public/s") == set(young)
        assert not list((root / "_floodmark" / "dml").iterdir())
        assert {e: _rows(fm, "SELECT * FROM st", e) for e in young} == expected
        assert fm.changes("st", young[0]).count() > 0
        with pytest.raises(
            DataError, match=rf"E0413(.|\n)*oldest epoch that is kept is {young[0]}"
        ):
            fm.changes("st", early[0])
        with pytest.raises(DataError, match=rf"E0412(.|\n)*{young[0]} to {young[1]} are kept"):
            fm.sql("SELECT * FROM st", at_epoch=early[1])
        clock.set(clock.now() + WEEK)
        last = _epoch(site, fm, 4)
        fm.maintain()
        assert fm.warehouse.retention_record.kept_epochs().oldest == last
        assert not written & _files(root)
        counted = _rows(fm, "SELECT sum(n) FROM st")
        assert counted == _rows(fm, "SELECT count(*) FROM s") != [(0,)]


def test_what_a_suspended_view_has_not_seen_stays(site: Site) -> None:
    site.define(READINGS, NAMES, GROUPED, "CREATE MATERIALIZED VIEW n AS SELECT name FROM d;")
    clock = FixedClock(datetime.now(UTC))
    root = site.root / "warehouse"
    table = root / "_rows" / "public" / "n"
    with _connect(site, clock) as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha')")
        seen = fm.warehouse.log.head().sealed
        before = DeltaTable(str(table)).version()
        write_deltalake(str(table), DeltaTable(str(table)).to_pyarrow_table(), mode="append")
        fm.execute("INSERT INTO d VALUES ('b', 'Beta')")
        fm.execute("UPDATE d SET name = 'Gamma' WHERE k = 'a'")
        assert "n" in fm.warehouse.log.suspensions()
        clock.set(clock.now() + WEEK)
        _epoch(site, fm, 0)
        assert fm.maintain().oldest_epoch == seen
        DeltaTable(str(table)).restore(before)
        fm.execute("ALTER MATERIALIZED VIEW n RESUME")
        assert not fm.warehouse.log.suspensions()
        assert visible(root, "n") == [("Beta",), ("Gamma",)]
        assert fm.maintain().oldest_epoch > seen
        assert visible(root, "n") == [("Beta",), ("Gamma",)]


def test_dead_letters_that_were_taken_back_and_states_of_old_definitions_go(site: Site) -> None:
    halves = "CREATE MATERIALIZED VIEW h AS SELECT k, 10 / n AS q FROM t;"
    counted = "CREATE MATERIALIZED VIEW c AS SELECT count(DISTINCT n + 1) AS n FROM t;"
    table = "CREATE TABLE t (k INT PRIMARY KEY, n INT);"
    site.define(table, halves, counted)
    clock = FixedClock(datetime.now(UTC))
    root = site.root / "warehouse"
    letters, states = root / "_dead_letter" / "public" / "h", root / "_state" / "public" / "c"
    with _connect(site, clock) as fm:
        fm.execute("INSERT INTO t VALUES (1, 0), (2, 0), (3, 5)")
        fm.execute("UPDATE t SET n = 2 WHERE k = 1")
        assert DeltaTable(str(letters)).to_pyarrow_table().num_rows == 3
        assert (states / "r1_values0" / "_delta_log").is_dir()
        asked = "SELECT reason, row, epoch FROM h__dead_letter"
        standing = _rows(fm, asked)
        site.define(table, halves, counted.replace("count(DISTINCT n + 1)", "sum(n)"))
        fm.apply(site.pipelines)
        fm.maintain()
        assert [p.name for p in states.iterdir()] == ["r1_values0"]
        assert DeltaTable(str(letters)).to_pyarrow_table().num_rows == 3
        clock.set(clock.now() + WEEK)
        fm.execute("INSERT INTO t VALUES (4, 1)")
        fm.maintain()
        assert not [*states.iterdir()]
        assert DeltaTable(str(letters)).to_pyarrow_table().num_rows == 1
        assert _rows(fm, asked) == standing and len(standing) == 1
        fm.execute("DELETE FROM t WHERE k = 2")
        assert _rows(fm, asked) == [] and visible(root, "c") == [(8,)]


def test_an_object_created_anew_keeps_its_young_versions(site: Site) -> None:
    site.define(READINGS, GROUPED)
    clock = FixedClock(datetime.now(UTC))
    with _connect(site, clock) as fm:
        old = [_epoch(site, fm, number) for number in (0, 1)]
        clock.set(clock.now() + timedelta(days=1))
        site.define(READINGS, GROUPED.replace("max(v)", "min(v)"))
        fm.apply(site.pipelines)
        begun = fm.warehouse.log.head().sealed
        _epoch(site, fm, 2)
        clock.set(clock.now() + timedelta(days=6, hours=1))
        expected = {e: _rows(fm, "SELECT * FROM st", e) for e in (begun, begun + 1)}
        assert fm.maintain().oldest_epoch == begun > old[-1]
        clock.set(clock.now() - timedelta(days=3))
        assert fm.maintain().oldest_epoch == begun
        assert {e: _rows(fm, "SELECT * FROM st", e) for e in expected} == expected


def test_the_pipeline_files_say_how_long(site: Site) -> None:
    site.define("SET retention = '36 hours';", READINGS)
    with _connect(site, FixedClock(NOW)) as fm:
        assert fm.retention == timedelta(hours=36)
        with pytest.raises(UserError, match="E0369"):
            fm.execute("SET retention = 'long'")
        fm.execute("SET retention TO DEFAULT")
        assert fm.retention == timedelta(days=7)


def _rows(fm: Floodmark, query: str, epoch: int | None = None) -> list[tuple[object, ...]]:
    return sorted(map(tuple, fm.sql(query, epoch).collect()))
