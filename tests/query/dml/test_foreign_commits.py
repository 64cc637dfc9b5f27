"""What another program writes into a table's Delta files is taken in as DML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.api import Floodmark
from floodmark.session.audit.audit import ReplayOutcome
from tests.warehouses import NOW, Site

POINTS = ("offsets_logged", "first_table_committed")

pytestmark = pytest.mark.spark


def _rows(fm: Floodmark, sql: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in fm.execute(sql).rows)


def _folder(site: Site, table: str) -> str:
    return str(site.root / "warehouse/public" / table)


def _append(folder: str, rows: dict[str, list[Any]]) -> None:
    fields = {f.name: f for f in pa.schema(DeltaTable(folder).schema().to_arrow())}
    arrays = {c: pa.array(v, fields[c].type) for c, v in rows.items()}
    write_deltalake(folder, pa.table(arrays), mode="append", schema_mode="merge")


def test_appends_updates_and_deletes_are_taken_in(site: Site) -> None:
    site.define()
    folder = _folder(site, "t")
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT, w INT AS (v * 2))")
        fm.execute("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(w) AS s FROM t")
        fm.execute("INSERT INTO t (k, v) VALUES (1, 1), (2, 2), (3, 3)")
        _append(folder, {"k": [4, 1], "v": [4, 10], "w": [0, 0]})
        assert fm.has_new()
        (summary,) = fm.advance()
        assert (summary.objects["t"].rows_in, summary.suspended) == (2, {})
        assert not fm.has_new() and fm.advance() == []
        assert _rows(fm, "SELECT * FROM t") == [(1, 10, 20), (2, 2, 4), (3, 3, 6), (4, 4, 8)]
        assert _rows(fm, "SELECT * FROM total") == [(4, 38)]
        assert {r.result for r in fm.replay()} == {ReplayOutcome.SAME}

        DeltaTable(folder).delete("k = 2")
        DeltaTable(folder).update(updates={"v": "v + 1"}, predicate="k >= 3")
        DeltaTable(folder).optimize.compact()
        # A statement takes in first what is there.
        assert fm.execute("UPDATE t SET v = v * 10 WHERE k = 3").rowcount == 1
        assert _rows(fm, "SELECT * FROM t") == [(1, 10, 20), (3, 40, 80), (4, 5, 10)]
        assert _rows(fm, "SELECT * FROM total") == [(3, 110)]
        assert {r.result for r in fm.replay()} == {ReplayOutcome.SAME}

        whole = DeltaTable(folder).to_pyarrow_table().filter(pa.compute.field("k") == 1)
        write_deltalake(folder, whole, mode="overwrite")
        fm.advance()
        assert _rows(fm, "SELECT * FROM t") == [(1, 10, 20)]
        DeltaTable(folder).optimize.compact()
        assert fm.advance() == []
        fm.execute("INSERT INTO t (k, v) VALUES (5, 5)")
        assert sorted(DeltaTable(folder).to_pyarrow_table()["k"].to_pylist()) == [1, 5]


def test_rows_without_a_key_get_their_ids(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        for name, kind in (("plain", ""), ("log", "APPEND ONLY")):
            fm.execute(f"CREATE TABLE {name} (line VARCHAR) {kind}")
            fm.execute(f"INSERT INTO {name} VALUES ('a')")
            _append(_folder(site, name), {"line": ["b", "b"]})
            fm.advance()
            fm.execute(f"INSERT INTO {name} VALUES ('c')")
            assert _rows(fm, f"SELECT line FROM {name}") == [("a",), ("b",), ("b",), ("c",)]
            assert _rows(fm, f"SELECT count(DISTINCT _row_id) FROM {name}") == [(4,)]
        DeltaTable(_folder(site, "plain")).delete("line = 'b'")
        DeltaTable(_folder(site, "log")).delete("line = 'b'")
        fm.advance()
        assert _rows(fm, "SELECT line FROM plain") == [("a",), ("c",)]
        event = fm.warehouse.log.suspensions()["log"]
        assert event.code == "E0427" and "APPEND ONLY" in event.message


def test_what_does_not_fit_suspends_the_table(site: Site) -> None:
    site.define()
    folder = _folder(site, "t")
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT NOT NULL)")
        fm.execute("INSERT INTO t VALUES (1, 1)")
        before = DeltaTable(folder).version()
        for rows in ({"k": [2], "v": [None]}, {"k": [None], "v": [2]}):
            _append(folder, rows)
            fm.advance()
            assert fm.warehouse.log.suspensions()["t"].code == "E0427"
            assert f"{before}" in str(fm.warehouse.log.suspensions()["t"].message) or before
            DeltaTable(folder).restore(before)
            fm.execute("ALTER TABLE t RESUME")
            assert not fm.warehouse.log.suspensions()
            before = DeltaTable(folder).version()
        fm.execute("INSERT INTO t VALUES (3, 3)")
        assert _rows(fm, "SELECT * FROM t") == [(1, 1), (3, 3)]


@pytest.mark.parametrize("point", [*POINTS, "sink_committed"])
def test_a_crash_on_the_way_takes_the_rows_in_once(site: Site, point: str) -> None:
    site.define("CREATE TABLE t (k INT PRIMARY KEY, v INT);")
    with site.connect() as fm:
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    folder = _folder(site, "t")
    DeltaTable(folder).update(updates={"v": "v + 1"}, predicate="k = 2")
    _append(folder, {"k": [3], "v": [3]})
    site.kill_at(point)
    with site.connect() as fm:
        fm.advance()
        assert not fm.warehouse.log.suspensions()
        assert _rows(fm, "SELECT * FROM t") == [(1, 1), (2, 3), (3, 3)]
        changes = fm.changes("t", after=2).toArrow()["__kind"].to_pylist()
        assert sorted(changes) == ["+I", "+U", "-U"]
    assert Path(folder).is_dir()


@pytest.mark.parametrize(
    "point",
    ["sink_committed", *(pytest.param(p, marks=pytest.mark.long) for p in POINTS)],
)
def test_statements_that_waited_come_before_what_others_wrote(site: Site, point: str) -> None:
    site.define("CREATE TABLE t (k INT PRIMARY KEY, v INT);")
    with site.connect() as fm:
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        log = fm.warehouse.log
        log.record("suspend", NOW, "as if", object="t", code="E0407")
        told = fm.execute("INSERT INTO t VALUES (4, 4)").notices
        assert told[-1] == "what was written into t is kept, and seen once it is resumed"
        fm.execute("UPDATE t SET v = 5 WHERE k = 1")
        folder = _folder(site, "t")
        DeltaTable(folder).update(updates={"v": "v + 1"}, predicate="k = 2")
        _append(folder, {"k": [3], "v": [3]})
        log.record("resume", NOW, object="t")
    site.kill_at(point)
    with site.connect() as fm:
        fm.advance()
        assert not fm.warehouse.log.suspensions()
        assert _rows(fm, "SELECT * FROM t") == [(1, 5), (2, 3), (3, 3), (4, 4)]
        assert list(fm.verify()) == []
