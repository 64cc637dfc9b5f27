"""RENAME TO: rows, state and readers stay; the log says new names from its epoch on."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.errors import UserError
from floodmark.session.inspect.reporting import reports
from floodmark.spark.session import Sessions
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    PROJECTED,
    READINGS,
    Site,
    differing,
    put,
    readings,
    replay_all,
    tables,
    visible,
)

pytestmark = pytest.mark.spark
FED = """
CREATE TABLE t (k VARCHAR PRIMARY KEY, n BIGINT, note VARCHAR DEFAULT 'counted');
CREATE SINK kk INTO t (k, n) AS SELECT k, count(*) FROM s GROUP BY k;
CREATE TABLE seen (k VARCHAR, n BIGINT);
CREATE SINK ks INTO seen (k, n) AS SELECT k, count(*) FROM s GROUP BY k
WITH (force_append_only = 'true');
CREATE SINK kt INTO seen (k, n) AS SELECT k, 1 FROM s;
"""
RENAMES = (
    "ALTER SINK kk RENAME TO fed",
    "ALTER SINK ks RENAME TO kt2",
    "ALTER TABLE t RENAME TO totals",
    "ALTER SOURCE s RENAME TO readings",
    "ALTER MATERIALIZED VIEW st RENAME TO s",
    "ALTER TABLE d RENAME TO names",
)


@pytest.fixture
def site(tmp_path: Path, sessions: Sessions) -> Site:
    return Site(tmp_path, sessions)


def test_renamed_objects_keep_rows_state_and_readers(site: Site) -> None:
    put(site.landing, "1", readings(0, 30))
    site.define(READINGS, NAMES, JOINED, GROUPED, FED)
    for name in ("plain", "renamed"):
        with site.connect(name) as fm:
            fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('z', 'Zeta')")
            fm.execute("INSERT INTO t (k, n) VALUES ('q', 1)")
            fm.advance(now=NOW)
    with site.connect("renamed") as fm:
        folders = tables(site.root / "renamed")
        started = fm.warehouse.log.head().sealed
        before, book = fm.status(), {r.key: r.to_last_report for r in reports(fm.warehouse, {})}
        for statement in RENAMES:
            assert fm.execute(statement).notices == ()
        assert fm.warehouse.log.head().sealed == started + len(RENAMES)
        after = fm.status()
        assert set(after) == {"readings", "names", "j", "s", "totals", "seen"}
        assert after["s"].versions == before["st"].versions
        assert all(not r.touched and r.position == started + 6 for r in after.values())
        assert not fm.plan(site.pipelines).changes
        # What was told by the former names is not told once more.
        assert all(r.steps == () for r in reports(fm.warehouse, book))
        fm.execute("CREATE TABLE d (x INT)")
        fm.execute("INSERT INTO d VALUES (7)")
    put(site.landing, "2", readings(30, 30))
    with site.connect("plain") as fm:
        fm.advance(now=NOW)
        fm.execute("UPDATE d SET name = 'Omega' WHERE k = 'a'")
    with site.connect("renamed") as fm:
        assert fm.has_new()
        assert len(fm.advance(now=NOW)) == 1
        fm.execute("UPDATE names SET name = 'Omega' WHERE k = 'a'")
        assert differing(replay_all(fm)) == []
        assert fm.replay(started, objects=["s", "totals"])
        old = fm.sql("SELECT count(*) FROM st", at_epoch=started).toArrow().to_pylist()
        new = fm.sql("SELECT count(*) FROM s", at_epoch=started + 6).toArrow().to_pylist()
        assert old == new
        changes = fm.sql("SELECT * FROM s__changes").count()
        assert changes > len(visible(site.root / "renamed", "st"))
        assert fm.sql("SELECT * FROM readings__late").count() > 0
        shown = fm.execute("SHOW CREATE j").rows[0][1]
        assert "FROM readings AS s" in shown and "names AS d" in shown
        told = {r.key: r.to_last_report for r in reports(fm.warehouse, {})}
        assert told["s"].changed == told["totals"].changed
    for name in ("j", "st", "t", "seen"):
        same = visible(site.root / "plain", name), visible(site.root / "renamed", name)
        assert same[0] == same[1], name
    assert visible(site.root / "renamed", "d__2") == [(7,)]
    own = [t for t in tables(site.root / "renamed") if "d__2" not in t]
    assert own == tables(site.root / "plain") and set(folders) <= set(own)


def test_what_is_suspended_or_read_by_such_keeps_its_name(site: Site) -> None:
    site.define(READINGS, NAMES, PROJECTED, GROUPED)
    put(site.landing, "0", readings(0, 10))
    with site.connect() as fm:
        fm.advance(now=NOW)
        table = str(site.root / "warehouse" / "_rows" / "public" / "st")
        write_deltalake(table, DeltaTable(table).to_pyarrow_table(), mode="append")
        put(site.landing, "1", readings(10, 10))
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions().keys() == {"st"}
        for statement in ("ALTER SOURCE s RENAME TO r", "ALTER MATERIALIZED VIEW st RENAME TO r"):
            with pytest.raises(UserError) as refused:
                fm.execute(statement)
            assert refused.value.code == "E0792" and "RESUME" in (refused.value.hint or "")
        fm.execute("ALTER TABLE d RENAME TO e")
        fm.execute("DROP MATERIALIZED VIEW st")
        fm.execute("ALTER SOURCE s RENAME TO r")
        assert fm.status().keys() == {"r", "e", "p"}
