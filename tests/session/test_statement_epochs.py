"""Statements through the public door: row ids, keys that move, suspensions that end."""

from __future__ import annotations

from typing import Any

import pytest

from floodmark.api import Floodmark
from floodmark.epochs.objects import view
from floodmark.errors import FloodmarkError
from tests.warehouses import NOW, READINGS, SUNK, Site, put, readings

pytestmark = pytest.mark.spark


def _rows(fm: Floodmark, sql: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in fm.execute(sql).rows)


@pytest.mark.parametrize("kind", ["", "APPEND ONLY"])
def test_statements_add_rows_to_a_table_without_key(site: Site, kind: str) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute(f"CREATE TABLE log (line VARCHAR, n INT) {kind}")
        fm.execute("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS c, sum(n) AS s FROM log")
        fm.execute("INSERT INTO log VALUES ('a', 1), ('b', 2)")
        fm.execute("INSERT INTO log VALUES ('a', 1)")
        fm.execute("INSERT INTO log SELECT line || '!', n FROM log")
        rows = [("a", 1), ("a", 1), ("a!", 1), ("a!", 1), ("b", 2), ("b!", 2)]
        assert _rows(fm, "SELECT line, n FROM log") == rows
        assert _rows(fm, "SELECT * FROM total") == [(6, 8)]
        ids = _rows(fm, "SELECT count(DISTINCT _row_id) FROM log")
        assert ids == [(6,)]


@pytest.mark.parametrize(
    ("values", "code"),
    [("1, 1 / 0", "E0621"), ("1, 2147483647 + 1", "E0622"), ("NULL, 1", "E0235")],
)
def test_a_row_that_is_refused_is_so_with_its_statement(site: Site, values: str, code: str) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (a INT NOT NULL, b INT)")
        with pytest.raises(FloodmarkError) as refused:
            fm.execute(statement := f"INSERT INTO t VALUES ({values})")
    assert refused.value.code == code
    assert refused.value.span is not None and refused.value.span.text == statement


def test_an_update_moves_a_generated_key(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (a INT, b INT AS (a * 10), v INT, PRIMARY KEY (b))")
        fm.execute("INSERT INTO t (a, v) VALUES (1, 1), (2, 2)")
        assert fm.execute("UPDATE t SET a = a + 10 WHERE v = 2").rowcount == 1
        assert _rows(fm, "SELECT a, b, v FROM t") == [(1, 10, 1), (12, 120, 2)]


def test_a_sink_may_have_any_name(site: Site) -> None:
    put(site.landing, "1", readings(0, 10))
    site.define()
    with site.connect() as fm:
        fm.execute(READINGS.format(landing=site.landing))
        fm.execute("CREATE TABLE log (id BIGINT)")
        fm.execute("""CREATE SINK "o'b" INTO log AS SELECT id FROM s WITH (type = 'append-only')""")
        fm.advance(now=NOW)
        assert len(_rows(fm, "SELECT id FROM log")) == len(_rows(fm, "SELECT id FROM s")) > 0


def test_a_defect_suspends_one_object(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(advance: Any) -> Any:
        if advance.obj.key.endswith("bad"):
            raise RuntimeError("planted")
        return advance_view(advance)

    advance_view = view.advance_view
    monkeypatch.setattr(view, "advance_view", broken)
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        created = fm.execute("CREATE MATERIALIZED VIEW bad AS SELECT k FROM t")
        assert "suspended" in created.notices[0]
        fm.execute("CREATE MATERIALIZED VIEW good AS SELECT v FROM t")
        fm.execute("INSERT INTO t VALUES (1, 2)")
        assert _rows(fm, "SELECT * FROM good") == [(2,)]
        (event,) = fm.warehouse.log.suspensions().values()
        assert event.code == "E0609" and "planted" in event.message
        monkeypatch.undo()
        fm.execute("DROP MATERIALIZED VIEW bad")
        assert not fm.warehouse.log.suspensions()
        fm.execute("CREATE MATERIALIZED VIEW bad AS SELECT k FROM t")
        assert _rows(fm, "SELECT * FROM bad") == [(1,)]


def test_a_table_with_rows_of_statements_is_not_rebuilt_by_the_way(site: Site) -> None:
    site.define("CREATE TABLE t (k INT PRIMARY KEY, v INT);")
    with site.connect() as fm:
        fm.deploy(site.pipelines)
        fm.execute("INSERT INTO t VALUES (1, 2)")
        site.define("CREATE TABLE t (k INT PRIMARY KEY, v BIGINT);")
        with pytest.raises(FloodmarkError) as refused:
            fm.apply(site.pipelines)
        assert refused.value.code == "E0379"
        assert _rows(fm, "SELECT * FROM t") == [(1, 2)]
        fm.apply(site.pipelines, discard_rows=True)
        assert _rows(fm, "SELECT * FROM t") == []


def test_a_sink_that_closes_windows_sees_every_watermark(site: Site) -> None:
    """Windows whose groups are all filtered out move the watermark, and nothing else."""
    emits = """
    CREATE TABLE closed (ws TIMESTAMP, n BIGINT) APPEND ONLY;
    CREATE SINK c INTO closed AS
    SELECT window_start, count(*) FROM TUMBLE(big, ts, INTERVAL '1 hour') GROUP BY window_start
    EMIT ON WINDOW CLOSE WITH (type = 'append-only');
    """
    big = "CREATE MATERIALIZED VIEW big AS SELECT id, ts, v FROM s WHERE v > 5;"
    site.define(READINGS, big, emits)
    with site.connect() as fm:
        for number, values in enumerate([[9], [9], [0], [0], [9], [0]]):
            rows = [(number * 10 + i, "a", number * 120 + i, v) for i, v in enumerate(values)]
            put(site.landing, f"{number}", rows)
            fm.advance(now=NOW)
        hours = [row[0].hour for row in _rows(fm, "SELECT ws FROM closed")]
        assert hours == [0, 2, 8]


def test_runs_know_each_table_by_its_identity(site: Site) -> None:
    site.define(READINGS, SUNK)
    put(site.landing, "1", readings(0, 20))
    with site.connect() as first, site.connect() as second:
        first.advance(now=NOW)
        counted = _rows(second, "SELECT k, n FROM t")
        first.execute("DROP SINK kk")
        first.execute("DROP TABLE t")
        first.execute("CREATE TABLE t (k VARCHAR PRIMARY KEY, n BIGINT)")
        first.execute("INSERT INTO t VALUES ('z', 1)")
        assert _rows(second, "SELECT k, n FROM t") == [("z", 1)] != counted
        second.execute("INSERT INTO t VALUES ('y', 2)")
        assert _rows(first, "SELECT k, n FROM t") == [("y", 2), ("z", 1)]
