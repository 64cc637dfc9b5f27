"""Definitions that change while rows stay: columns, queries, views that become tables."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import floodmark
from floodmark.errors import FloodmarkError
from floodmark.spark.session import Sessions
from floodmark.testing import FixedClock

pytestmark = pytest.mark.spark
ROWS = "SELECT * FROM {} ORDER BY 1"


@pytest.fixture
def fm(sessions: Sessions, tmp_path: Path) -> Iterator[floodmark.Floodmark]:
    """Yield a warehouse with a table `src` of three rows."""
    with floodmark.connect(tmp_path / "w", sessions=lambda: sessions) as connection:
        connection.execute("CREATE TABLE src (k INT PRIMARY KEY, v INT)")
        connection.execute("INSERT INTO src VALUES (1, 10), (2, 21), (3, 30)")
        yield connection


def _rows(fm: floodmark.Floodmark, name: str) -> list[object]:
    return list(fm.execute(ROWS.format(name)).rows)


def _refused(fm: floodmark.Floodmark, statement: str) -> str:
    with pytest.raises(FloodmarkError) as refused:
        fm.execute(statement)
    assert refused.value.hint
    place, objects = refused.value.span, fm.deployed.catalog.objects.values()
    assert place is None or place.source in {statement, *(o.span.source for o in objects)}
    return str(refused.value.code)


def _epoch(fm: floodmark.Floodmark) -> int:
    return fm.warehouse.log.head().sealed


def test_columns_come_and_go_under_views_and_sinks(fm: floodmark.Floodmark) -> None:
    fm.execute_script("""
        CREATE TABLE t (k INT PRIMARY KEY, v INT);
        CREATE SINK s INTO t AS SELECT k, v FROM src;
        CREATE MATERIALIZED VIEW all_of AS SELECT * FROM t;
        CREATE MATERIALIZED VIEW sums AS SELECT v % 2 AS p, sum(v) AS s FROM t GROUP BY v % 2;
    """)
    fm.execute("ALTER TABLE t ADD c INT DEFAULT 7")
    assert _rows(fm, "t") == [(1, 10, 7), (2, 21, 7), (3, 30, 7)]
    record = fm.warehouse.cut().records["all_of"]
    assert not record.touched, "what reads the table has nothing to do"
    fm.execute("UPDATE t SET c = 8 WHERE k = 3")
    assert fm.warehouse.cut().records["all_of"].rows_out == 0
    fm.execute("INSERT INTO src VALUES (4, 41)")
    assert _rows(fm, "t")[2:] == [(3, 30, 8), (4, 41, 7)]
    assert _rows(fm, "all_of") == [(1, 10), (2, 21), (3, 30), (4, 41)]

    fm.execute("ALTER TABLE t RENAME COLUMN v TO w")
    fm.execute("INSERT INTO src VALUES (5, 50)")
    assert _rows(fm, "sums") == [(0, 90), (1, 62)]
    assert _rows(fm, "all_of")[-1] == (5, 50)
    assert "t AS t(k, v)" in str(fm.execute("SHOW CREATE MATERIALIZED VIEW sums").rows)
    assert _rows(fm, "(SELECT w, c FROM t)")[-1] == (50, 7)

    assert _refused(fm, "ALTER TABLE t DROP COLUMN w") == "E0837"
    fm.execute("ALTER TABLE t DROP COLUMN c")
    fm.execute("ALTER TABLE t ADD COLUMN c VARCHAR")
    assert _rows(fm, "t")[0] == (1, 10, None), "a column that comes back has no former values"
    fm.execute("ALTER TABLE t ADD COLUMN IF NOT EXISTS c VARCHAR")
    fm.execute("CREATE INDEX by_w ON t (w)")
    before = _epoch(fm)
    fm.execute("ALTER TABLE t ADD e INT DEFAULT 1, DROP COLUMN c, ADD f VARCHAR DEFAULT 'x'")
    assert _epoch(fm) == before + 1
    assert _rows(fm, "t")[-1] == (5, 50, 1, "x")
    fm.execute("ALTER TABLE t DROP COLUMN w CASCADE, DROP COLUMN IF EXISTS e")
    assert _rows(fm, "t")[-1] == (5, "x")
    assert [str(n) for (n,) in fm.execute("SHOW OBJECTS").rows] == ["src", "t"]
    for epoch in range(_epoch(fm) - 4, _epoch(fm) + 1):
        assert {r.result.name for r in fm.replay(epoch=epoch)} <= {"SAME", "IMPOSSIBLE"}


REFUSED = [
    ("ALTER TABLE src ADD COLUMN v INT", "E0830"),
    ("ALTER TABLE src ADD COLUMN c INT AS (v * 2)", "E0831"),
    ("ALTER TABLE src ADD COLUMN c INT NOT NULL", "E0832"),
    ("ALTER TABLE src ADD COLUMN c INT DEFAULT 1 / 0", "E0839"),
    ('ALTER TABLE src ADD COLUMN "c d" INT', "E0403"),
    ('ALTER TABLE src RENAME COLUMN v TO "v w"', "E0403"),
    ("ALTER TABLE t DROP COLUMN n", "E0837"),
    ("ALTER TABLE t2 DROP COLUMN a", "E0837"),
    ("ALTER MATERIALIZED VIEW w TO TABLE", "E0845"),
    ("ALTER TABLE src DROP COLUMN k", "E0833"),
    ("ALTER TABLE src DROP COLUMN vv", "E0836"),
    ("ALTER TABLE src RENAME COLUMN v TO k", "E0830"),
    ("ALTER TABLE src ADD COLUMN c INT ON CONFLICT DO UPDATE SET nope = 1", "E0206"),
    ("ALTER TABLE src SET (connector = 'files', path = 'x')", "E0842"),
    ("ALTER MATERIALIZED VIEW w AS SELECT v FROM w", "E0204"),
    ("ALTER MATERIALIZED VIEW w AS SELECT v FROM nothing", "E0201"),
    ("ALTER SINK s AS SELECT p, n FROM t", "E0204"),
    ("ALTER SINK s AS SELECT k, v, v FROM src", "E0228"),
    ("ALTER SINK s AS SELECT k, v FROM src WITH (backfill = 'all')", "E0840"),
    ("CREATE TABLE x AS SELECT v FROM src", "E0845"),
    ("CREATE TABLE x WITH (continuous = 'perhaps') AS SELECT k FROM src", "E0846"),
    ("ALTER MATERIALIZED VIEW u TO TABLE", "E0845"),
    ("DROP SINK f WITH ROWS", "E0342"),
]


def test_what_is_refused_changes_nothing(fm: floodmark.Floodmark) -> None:
    fm.execute_script("""
        CREATE TABLE t (p INT PRIMARY KEY, n BIGINT);
        CREATE SINK s INTO t AS SELECT v, count(*) FROM src GROUP BY v;
        CREATE SINK f INTO t AS SELECT v, count(*) FROM src GROUP BY v
            WITH (force_append_only = 'true');
        CREATE MATERIALIZED VIEW w AS SELECT sum(n) AS v FROM t;
        CREATE MATERIALIZED VIEW u AS SELECT v FROM src;
        CREATE TABLE t2 (k INT PRIMARY KEY, a INT, b INT);
        CREATE SINK by_place INTO t2 AS SELECT k, v FROM src;
    """)
    before = (fm.deployed.version, _rows(fm, "t"))
    codes = {statement: _refused(fm, statement) for statement, _ in REFUSED}
    assert codes == dict(REFUSED)
    assert (fm.deployed.version, _rows(fm, "t")) == before


def test_a_sink_with_another_query_writes_the_difference(fm: floodmark.Floodmark) -> None:
    fm.execute_script("""
        CREATE TABLE t (p INT PRIMARY KEY, n BIGINT);
        CREATE SINK s INTO t AS SELECT v % 10, count(*) FROM src GROUP BY v % 10;
        CREATE MATERIALIZED VIEW over AS SELECT count(*) AS c, sum(n) AS n FROM t;
    """)
    fm.execute("INSERT INTO t VALUES (9, 900)")
    fm.execute("ALTER SINK s AS SELECT v, count(*) FROM src WHERE v < 30 GROUP BY v")
    assert _rows(fm, "t") == [(9, 900), (10, 1), (21, 1)]
    changes = [(r["__kind"], r["p"]) for r in fm.changes("t", after=_epoch(fm) - 1).collect()]
    assert sorted(changes) == [("+I", 10), ("+I", 21), ("-D", 0), ("-D", 1)]
    fm.execute("INSERT INTO src VALUES (5, 10)")
    assert _rows(fm, "t") == [(9, 900), (10, 2), (21, 1)]
    assert _rows(fm, "over") == [(3, 903)]
    fm.execute("ALTER SINK s AS SELECT k, v::bigint FROM src WITH (backfill = 'none')")
    assert _rows(fm, "t") == [(9, 900), (10, 2), (21, 1)]
    fm.execute("INSERT INTO src VALUES (6, 60)")
    assert _rows(fm, "t") == [(6, 60), (9, 900), (10, 2), (21, 1)]
    fm.execute("DROP SINK s WITH ROWS")
    assert _rows(fm, "t") == [(9, 900), (10, 2), (21, 1)]
    fm.execute("ALTER TABLE t ON CONFLICT DO NOTHING")
    fm.execute("CREATE SINK s INTO t AS SELECT k, count(*) FROM src GROUP BY k")
    assert _refused(fm, "ALTER SINK s AS SELECT v, count(*) FROM src GROUP BY v") == "E0843"


def test_a_view_with_another_query_publishes_the_difference(fm: floodmark.Floodmark) -> None:
    fm.execute_script("""
        CREATE MATERIALIZED VIEW g AS SELECT v % 2 AS p, sum(v) AS s FROM src GROUP BY v % 2;
        CREATE MATERIALIZED VIEW over AS SELECT sum(s) AS s FROM g;
    """)
    fm.execute(
        "ALTER MATERIALIZED VIEW g AS "
        "SELECT v % 2 AS p, sum(v) AS s, max(v) AS top FROM src WHERE v > 10 GROUP BY v % 2"
    )
    assert _rows(fm, "g") == [(0, 30, 30), (1, 21, 21)]
    assert [int(s) for (s,) in _rows(fm, "over")] == [51]  # type: ignore[misc]
    plan = fm.explain("over")
    assert "top" not in str(plan)
    fm.execute("INSERT INTO src VALUES (7, 71), (8, 4)")
    assert _rows(fm, "g") == [(0, 30, 30), (1, 92, 71)]
    fm.execute("ALTER MATERIALIZED VIEW g AS SELECT k AS p, v::bigint AS s FROM src WHERE k < 3")
    assert _rows(fm, "g") == [(1, 10), (2, 21)], "another key: computed anew, and what reads it"
    assert [int(s) for (s,) in _rows(fm, "over")] == [31]  # type: ignore[misc]


def test_no_reader_sees_a_table_go_back(fm: floodmark.Floodmark, sessions: Sessions) -> None:
    """Readers beside an ALTER see all of the old query or all of the new one, never less."""
    fm.execute("INSERT INTO src SELECT k, k FROM generate_series(10, 400) AS g(k)")
    fm.execute_script("""
        CREATE TABLE t (k INT PRIMARY KEY, n INT);
        CREATE SINK s INTO t AS SELECT k, 1 FROM src;
        CREATE MATERIALIZED VIEW over AS SELECT count(*) AS c, sum(n) AS n FROM t;
    """)
    (whole,) = (int(c) for c, _ in _rows(fm, "over"))  # type: ignore[misc]
    seen: set[tuple[int, int, int, int]] = set()
    done = threading.Event()

    def read() -> None:
        query = "SELECT count(*), sum(n), (SELECT c FROM over), (SELECT n FROM over) FROM t"
        with floodmark.connect(fm.root, sessions=lambda: sessions) as other:
            while not done.is_set():
                (row,) = other.execute(query).rows
                seen.add(tuple(map(int, row)))  # type: ignore[arg-type]

    thread = threading.Thread(target=read)
    thread.start()
    try:
        fm.execute("ALTER SINK s AS SELECT k, 2 FROM src")
        fm.execute("ALTER SINK s AS SELECT k, 3 FROM src")
    finally:
        done.set()
        thread.join()
    assert seen and seen <= {(whole, whole * f, whole, whole * f) for f in (1, 2, 3)}


def test_views_become_tables_and_queries_tables(fm: floodmark.Floodmark) -> None:
    fm.execute_script("""
        CREATE TABLE a AS SELECT v % 2 AS p, count(*) AS n FROM src GROUP BY v % 2;
        CREATE TABLE once WITH (continuous = false) AS SELECT k, v FROM src;
        CREATE TABLE log (v INT) APPEND ONLY;
        CREATE TABLE kept AS SELECT v + 1 AS w FROM log;
        CREATE MATERIALIZED VIEW m AS SELECT v % 2 AS p, sum(v) AS s FROM src GROUP BY v % 2;
        CREATE MATERIALIZED VIEW over AS SELECT sum(s) AS s FROM m;
        CREATE MATERIALIZED VIEW added AS SELECT v * 2 AS w FROM log;
    """)
    fm.execute("INSERT INTO log VALUES (1), (1)")
    fm.execute("ALTER MATERIALIZED VIEW m TO TABLE")
    assert fm.warehouse.cut().records["over"].rows_out == 0
    fm.execute("ALTER MATERIALIZED VIEW added TO TABLE")
    fm.execute("INSERT INTO m VALUES (7, 700)")
    fm.execute("INSERT INTO src VALUES (5, 51)")
    fm.execute("INSERT INTO log VALUES (3)")
    assert _rows(fm, "a") == [(0, 2), (1, 2)]
    assert _rows(fm, "once") == [(1, 10), (2, 21), (3, 30)]
    assert _rows(fm, "kept") == [(2,), (2,), (4,)]
    assert _rows(fm, "added") == [(2,), (2,), (6,)]
    assert _rows(fm, "m") == [(0, 40), (1, 72), (7, 700)]
    assert [int(s) for (s,) in _rows(fm, "over")] == [812]  # type: ignore[misc]
    assert "INTO m AS" in str(fm.execute("SHOW CREATE SINK m").rows)
    assert _refused(fm, "DROP TABLE a") == "E0205"
    fm.execute("DROP SINK a")
    fm.execute("INSERT INTO a VALUES (9, 9)")
    with pytest.raises(FloodmarkError):
        fm.execute("CREATE TABLE bad WITH (continuous = false) AS SELECT k, 1 / (v - v) FROM src")
    assert "bad" not in fm.deployed.catalog.objects


FILES = """
CREATE TABLE src (k INT PRIMARY KEY, v INT{extra});
CREATE MATERIALIZED VIEW listed AS SELECT k, v FROM src;
CREATE MATERIALIZED VIEW starred AS SELECT * FROM src;
CREATE MATERIALIZED VIEW g AS SELECT v % {mod} AS p, count(*) AS n FROM src GROUP BY v % {mod};
"""


def test_files_that_change_keep_what_they_can(sessions: Sessions, tmp_path: Path) -> None:
    files = tmp_path / "pipelines"
    files.mkdir()
    path = files / "a.sql"
    path.write_text(FILES.format(extra="", mod=2))
    with floodmark.connect(tmp_path / "w", pipelines=files, sessions=lambda: sessions) as fm:
        fm.execute("INSERT INTO src VALUES (1, 10), (2, 21)")
        path.write_text(FILES.format(extra=", c INT DEFAULT 3", mod=3))
        actions = {c.key: c.action for c in fm.apply(files).changes}
        assert actions == {"src": "alter", "starred": "replace", "g": "replace"}
        assert _rows(fm, "src") == [(1, 10, 3), (2, 21, 3)]
        assert _rows(fm, "starred") == [(1, 10, 3), (2, 21, 3)]
        assert _rows(fm, "g") == [(0, 1), (1, 1)]
        assert not fm.plan(files).changes
        fm.execute("INSERT INTO src VALUES (3, 31, 4)")
        assert _rows(fm, "listed") == [(1, 10), (2, 21), (3, 31)]
        assert _rows(fm, "starred")[-1] == (3, 31, 4)


def test_what_is_behind_is_brought_up_first(fm: floodmark.Floodmark) -> None:
    fm.execute("CREATE MATERIALIZED VIEW w AS SELECT k, v FROM src")
    log = fm.warehouse.log
    log.record("suspend", fm.warehouse.clock.now(), "for the test", object="w", code="E0601")
    assert _refused(fm, "ALTER TABLE src ADD COLUMN c INT") == "E0838"
    fm.execute("ALTER w RESUME")
    fm.execute("ALTER TABLE src ADD COLUMN c INT")


def test_without_a_snapshot_only_what_comes_counts(fm: floodmark.Floodmark) -> None:
    fm.execute_script("""
        CREATE TABLE log (v INT) APPEND ONLY;
        CREATE TABLE t (k INT PRIMARY KEY, n INT);
        INSERT INTO log VALUES (1), (2);
        CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n, sum(v) AS s FROM log
            WITH (snapshot = 'false');
        CREATE SINK s INTO t AS SELECT k, v FROM src WITH (snapshot = 'false');
    """)
    assert _rows(fm, "t") == []
    fm.execute("INSERT INTO log VALUES (5)")
    fm.execute("UPDATE src SET v = 11 WHERE k = 1")
    fm.execute("DELETE FROM src WHERE k = 2")
    assert _rows(fm, "n") == [(1, 5)]
    assert _rows(fm, "t") == [(1, 11)]
    refused = "CREATE MATERIALIZED VIEW x AS SELECT k FROM src WITH (snapshot = 'false')"
    assert _refused(fm, refused) == "E0851"
    assert _refused(fm, refused.replace("'false'", "'perhaps'")) == "E0850"
    fm.execute("INSERT INTO t VALUES (3, -3)")
    another = "ALTER SINK s AS SELECT k, v + 1 FROM src"
    assert _refused(fm, another + " WITH (backfill = 'diff')") == "E0843"
    assert _refused(fm, "DROP SINK s WITH ROWS") == "E0342"
    fm.execute(another)
    assert _rows(fm, "t") == [(1, 11), (3, -3)], "what was there stays"
    grouped = "CREATE SINK y INTO t AS SELECT k, count(*)::int FROM src GROUP BY k"
    assert _refused(fm, grouped + " WITH (snapshot = 'false')") == "E0851"


def test_a_view_without_a_snapshot_becomes_a_table_without_the_rows_of_before(
    fm: floodmark.Floodmark,
) -> None:
    fm.execute_script("""
        CREATE TABLE log (k INT PRIMARY KEY, v INT) APPEND ONLY;
        INSERT INTO log VALUES (1, 10), (2, 20);
        CREATE MATERIALIZED VIEW m AS SELECT k, v FROM log WITH (snapshot = 'false');
        INSERT INTO log VALUES (3, 30);
        ALTER MATERIALIZED VIEW m TO TABLE;
    """)
    assert _rows(fm, "m") == [(3, 30)]
    fm.execute("INSERT INTO log VALUES (4, 40)")
    assert _rows(fm, "m") == [(3, 30), (4, 40)]
    assert _refused(fm, "DROP SINK m WITH ROWS") == "E0342"


def test_another_ttl_ends_rows_at_once(sessions: Sessions, tmp_path: Path) -> None:
    clock = FixedClock(datetime(2024, 1, 10, tzinfo=UTC))
    with floodmark.connect(tmp_path, sessions=lambda: sessions, clock=clock) as fm:
        fm.execute_script("""
            CREATE TABLE t (k INT PRIMARY KEY, at TIMESTAMP);
            CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;
            INSERT INTO t VALUES (1, '2024-01-01'), (2, '2024-01-08'), (3, '2024-01-09 12:00');
            ALTER TABLE t SET (ttl = '7 days', ttl_column = 'at');
        """)
        assert _rows(fm, "n") == [(2,)]
        assert _refused(fm, "ALTER TABLE t DROP COLUMN at") == "E0833"
        fm.execute("ALTER TABLE t RENAME COLUMN at TO since")
        fm.execute("ALTER TABLE t SET (ttl = '1 day')")
        assert _rows(fm, "n") == [(1,)]
        clock.set(datetime(2024, 1, 11, tzinfo=UTC))
        fm.advance()
        assert _rows(fm, "t") == []


def test_a_window_over_a_table_keeps_the_names_of_its_columns(fm: floodmark.Floodmark) -> None:
    fm.execute_script("""
        CREATE TABLE w (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) APPEND ONLY;
        CREATE MATERIALIZED VIEW e AS SELECT window_start, count(*) AS n
            FROM TUMBLE(w, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE;
        CREATE MATERIALIZED VIEW h AS SELECT x.window_start, max(x.k) AS k
            FROM HOP(w, ts, INTERVAL '1 hour', INTERVAL '2 hours') AS x GROUP BY x.window_start;
        INSERT INTO w VALUES (1, '2024-01-01 10:00'), (2, '2024-01-01 10:30');
    """)
    assert _refused(fm, "ALTER TABLE w RENAME COLUMN ts TO at") == "E0833"
    fm.execute("ALTER TABLE w RENAME COLUMN k TO kk")
    fm.execute("INSERT INTO w VALUES (3, '2024-01-01 12:00')")
    assert [n for _, n in _rows(fm, "e")] == [2]  # type: ignore[misc]
    assert [k for _, k in _rows(fm, "h")] == [2, 2, 3, 3]  # type: ignore[misc]


@pytest.mark.parametrize("key", ["p", "p, q"])
def test_a_view_with_a_row_without_a_key_becomes_a_table(fm: floodmark.Floodmark, key: str) -> None:
    fm.execute_script(f"""
        CREATE TABLE o (id INT PRIMARY KEY, p VARCHAR, q INT, price INT);
        INSERT INTO o VALUES (1, 'a', 1, 1), (4, NULL, 1, 4), (5, NULL, 1, 6), (6, 'b', 1, 3);
        CREATE MATERIALIZED VIEW m AS SELECT {key}, sum(price)::bigint AS s FROM o GROUP BY {key};
        CREATE MATERIALIZED VIEW over AS SELECT count(*) AS n, sum(s)::bigint AS s FROM m;
        ALTER MATERIALIZED VIEW m TO TABLE;
    """)
    assert fm.execute("SELECT p, s FROM m ORDER BY p").rows == (("a", 1), ("b", 3))
    assert _rows(fm, "over") == [(2, 4)]
    (change,) = fm.changes("m", after=_epoch(fm) - 1).collect()
    assert (change["__kind"], change["p"], change["s"]) == ("-D", None, 10)
    record = fm.warehouse.cut().records["m"]
    ways = (record.ignored_rows, record.expired_rows, record.late_rows, record.dead_rows)
    assert min(ways) >= 0 and record.rows_in >= sum(ways), record
    assert len(fm.execute("SELECT * FROM m__dead_letter").rows) == 1
    fm.execute("UPDATE o SET p = 'b' WHERE id = 4")
    assert fm.execute("SELECT p, s FROM m ORDER BY p").rows == (("a", 1), ("b", 7))
    fm.execute("DELETE FROM o WHERE p IS NULL")
    assert fm.execute("SELECT p, s FROM m ORDER BY p").rows == (("a", 1), ("b", 7))
    assert _rows(fm, "over") == [(2, 8)]
    assert not fm.execute("SELECT * FROM m__dead_letter").rows
