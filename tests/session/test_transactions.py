"""BEGIN … COMMIT: one epoch, seen by its own statements alone until then, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.session.audit.audit import ReplayOutcome
from tests.warehouses import Site

pytestmark = pytest.mark.spark


def _rows(fm: Floodmark, sql: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in fm.execute(sql).rows)


def _sealed(fm: Floodmark) -> int:
    return fm.warehouse.log.head().sealed


def _left(site: Site) -> list[Path]:
    return list((site.root / "warehouse/_floodmark/dml").glob("*"))


def _define(fm: Floodmark) -> None:
    fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    fm.execute("CREATE TABLE log (line VARCHAR) APPEND ONLY")
    fm.execute("CREATE VIEW big AS SELECT k FROM t WHERE v > 10")
    fm.execute("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(v) AS s FROM t")


def test_a_transaction_is_one_epoch(site: Site) -> None:
    site.define()
    with site.connect() as fm, site.connect() as other:
        _define(fm)
        fm.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
        before = _sealed(fm)
        assert fm.execute("START TRANSACTION").status == "BEGIN"
        assert fm.execute("INSERT INTO t VALUES (3, 30), (1, 11)").rowcount == 2
        assert _rows(fm, "SELECT * FROM t") == [(1, 11), (2, 20), (3, 30)]
        assert fm.execute("UPDATE t SET k = k + 10 WHERE v > 15").rowcount == 2
        assert fm.execute("DELETE FROM t WHERE k = 13 RETURNING v").rows == ((30,),)
        fm.execute("INSERT INTO log SELECT 'k' || k FROM t")
        fm.execute("INSERT INTO log VALUES ('end')")
        assert _rows(fm, "SELECT * FROM t") == [(1, 11), (12, 20)]
        assert _rows(fm, "SELECT * FROM big") == [(1,), (12,)]
        assert _rows(fm, "SELECT line FROM log") == [("end",), ("k1",), ("k12",)]
        assert [tuple(r) for r in fm.sql("SELECT count(*) FROM log").collect()] == [(3,)]
        # What is computed from the tables follows with the epoch; others see nothing of it.
        assert _rows(fm, "SELECT * FROM total") == [(2, 30)]
        assert _rows(other, "SELECT * FROM t") == [(1, 10), (2, 20)]
        assert _sealed(fm) == before
        assert fm.execute("COMMIT").status == "COMMIT"
        assert _sealed(fm) == before + 1
        assert _rows(other, "SELECT * FROM t") == [(1, 11), (12, 20)]
        assert _rows(other, "SELECT line FROM log") == [("end",), ("k1",), ("k12",)]
        assert _rows(other, "SELECT * FROM total") == [(2, 31)]
        assert {r.result for r in fm.replay(before + 1)} == {ReplayOutcome.SAME}


def test_nothing_is_written_without_a_commit(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        _define(fm)
        before, kept = _sealed(fm), _left(site)
        fm.execute_script("BEGIN; INSERT INTO t VALUES (1, 1); ROLLBACK")
        fm.execute_script("BEGIN WORK; INSERT INTO t VALUES (1, 1); ABORT")
        fm.execute_script("BEGIN; SELECT * FROM t; DELETE FROM t; END")
        fm.execute_script("BEGIN; COMMIT")
        for wrong in (
            "INSERT INTO t VALUES (1, 1 / 0)",
            "CREATE TABLE x (a INT)",
            "SELEC",
            "FLUSH",
        ):
            fm.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            fm.execute("INSERT INTO t VALUES (1, 1)")
            with pytest.raises(FloodmarkError) as first:
                fm.execute(wrong)
            with pytest.raises(FloodmarkError) as then:
                fm.execute("SELECT 1")
            assert then.value.code == "E0421"
            assert first.value.code == {"C": "E0422", "F": "E0422"}.get(wrong[0], first.value.code)
            assert fm.execute("COMMIT").status == "ROLLBACK"
        assert fm.execute("COMMIT").notices == ("there is no transaction in progress",)
        fm.execute("BEGIN")
        assert fm.execute("BEGIN").notices == ("there is already a transaction in progress",)
        fm.execute("INSERT INTO t VALUES (1, 1)")
        assert len(_left(site)) == len(kept) + 1
    with site.connect() as fm:
        assert (_sealed(fm), _rows(fm, "SELECT * FROM t"), _left(site)) == (before, [], kept)


def test_commit_is_refused_where_its_ground_has_changed(site: Site) -> None:
    site.define()
    with site.connect() as fm, site.connect() as other:
        _define(fm)
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        for mine, theirs, holds in (
            ("UPDATE t SET v = v + 1", "UPDATE t SET v = 100 WHERE k = 2", False),
            ("INSERT INTO log SELECT 'x' FROM t", "DELETE FROM t WHERE k = 9; INSERT INTO t"
             " VALUES (5, 5)", False),
            ("INSERT INTO log VALUES ('y')", "INSERT INTO log VALUES ('z')", False),
            ("INSERT INTO log VALUES ('y')", "INSERT INTO t VALUES (6, 6)", True),
            ("INSERT INTO log VALUES ('y')", "CREATE TABLE n (a INT)", False),
        ):  # fmt: skip
            fm.execute("BEGIN")
            fm.execute("SELECT * FROM t")
            fm.execute(mine)
            other.execute_script(theirs)
            if holds:
                assert fm.execute("COMMIT").status == "COMMIT"
                continue
            with pytest.raises(FloodmarkError) as refused:
                fm.execute("COMMIT")
            assert refused.value.code == "E0423"
            assert fm.execute("ROLLBACK").notices == ("there is no transaction in progress",)
        assert _rows(fm, "SELECT * FROM log") == [("y",), ("z",)]
