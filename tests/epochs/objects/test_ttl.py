"""Tables whose rows end: when epochs open for it, what is counted, seen, reclaimed and replayed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.limits import Limits
from floodmark.session.audit import ReplayOutcome
from floodmark.storage.logs.object_record import ObjectRecord
from tests.warehouses import Site, contents, digests, put, readings

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, 10, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
WRITTEN = """
CREATE TABLE t (k INT PRIMARY KEY, a INT) WITH (ttl = '10 minutes');
CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n, max(a) AS m FROM t;
"""
BY_COLUMN = """
CREATE TABLE t (k INT PRIMARY KEY, ts TIMESTAMPTZ, a INT)
    WITH (ttl = '10 minutes', ttl_column = ts);
CREATE MATERIALIZED VIEW v AS SELECT k, a FROM t;
"""
SEEN = """
CREATE TABLE t (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 hour') APPEND ONLY
    WITH (ttl = '10 minutes', ttl_column = ts);
CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;
CREATE TABLE u (k INT) APPEND ONLY WITH (ttl = '10 minutes');
"""
FADING = """
CREATE TABLE t (k INT PRIMARY KEY, u TIMESTAMP, v VARCHAR,
                WATERMARK FOR u AS u - INTERVAL '10 minutes' WITH TTL);
CREATE MATERIALIZED VIEW w AS SELECT k, u, v FROM t;
"""


def _at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def _go_to(fm: Floodmark, minutes: float) -> int:
    """Let the clock stand at a time and return how many epochs that gives."""
    fm.clock.set(_at(minutes))  # type: ignore[attr-defined]
    return len(fm.advance())


def _record(fm: Floodmark, name: str = "t") -> ObjectRecord:
    record = fm.warehouse.cut().records[name]
    ways = (record.ignored_rows, record.expired_rows, record.late_rows, record.dead_rows)
    assert min(ways) >= 0 and record.rows_in >= sum(ways), record
    return record


def _all(fm: Floodmark, query: str) -> list[tuple[object, ...]]:
    return list(fm.execute(query).rows)


def test_a_row_goes_so_long_after_its_last_write(site: Site) -> None:
    site.define(WRITTEN)
    with site.connect() as fm:
        _go_to(fm, 0)
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        assert (_record(fm).rows_in, _record(fm).due) == (3, _at(10))
        _go_to(fm, 4)
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 20)")
        record = _record(fm)
        assert (record.rows_in, record.rows_out, record.ignored_rows) == (2, 2, 1)
        assert [_go_to(fm, m) for m in (9.99, 10, 10, 13.99)] == [0, 1, 0, 0]
        record = _record(fm)
        assert (record.rows_in, record.rows_out, record.timed_rows) == (0, 1, 1)
        assert (record.cutoff, record.due) == (_at(0), _at(14))
        assert _all(fm, "SELECT * FROM t ORDER BY k") == [(1, 1), (2, 20)]
        assert _go_to(fm, 14) == 1
        assert _all(fm, "SELECT * FROM n") == [(0, None)]
        assert _record(fm).due is None
        changes = _all(fm, "SELECT kind, k, a FROM t__changes WHERE k = 1 ORDER BY epoch")
        assert changes == [("+I", 1, 1), ("-D", 1, 1)]
        epochs = "SELECT timed_rows FROM floodmark.epochs WHERE object = 't' AND timed_rows > 0"
        assert sorted(_all(fm, epochs)) == [(1,), (2,)]
        _replays(fm)


def _replays(fm: Floodmark) -> None:
    first, last = fm.warehouse.retention_record.kept_epochs().oldest, fm.warehouse.log.head().sealed
    replayed = [r for epoch in range(first + 1, last + 1) for r in fm.replay(epoch=epoch)]
    assert {r.result for r in replayed} <= {ReplayOutcome.SAME, ReplayOutcome.IMPOSSIBLE}
    assert any(r.result is ReplayOutcome.SAME for r in replayed)


def test_a_row_that_is_over_as_it_comes_is_counted(site: Site) -> None:
    site.define(BY_COLUMN)
    with site.connect() as fm:
        _go_to(fm, 20)
        fm.execute(
            "INSERT INTO t VALUES (1, '2024-01-01 10:10:00+00', 1), "
            "(2, '2024-01-01 10:10:00.000001+00', 2), (3, NULL, 3), (4, '2024-01-01 10:20+00', 4)"
        )
        record = _record(fm)
        assert (record.rows_in, record.expired_rows, record.rows_out) == (4, 1, 3)
        assert record.due == _at(20) + MICROSECOND
        fm.execute("UPDATE t SET ts = '2024-01-01 09:00+00' WHERE k = 4")
        record = _record(fm)
        assert (record.rows_in, record.expired_rows, record.timed_rows) == (1, 1, 1)
        assert (record.rows_out, record.due) == (2, None)
        assert [_go_to(fm, 21), _go_to(fm, 100_000)] == [0, 0]
        assert _all(fm, "SELECT k FROM v") == [(3,)]
        assert _record(fm).due is None
        _replays(fm)


def test_after_a_long_stop_time_goes_in_portions(site: Site) -> None:
    site.define("SET max_due_rows = 2;", BY_COLUMN)
    with site.connect() as fm:
        _go_to(fm, 0)
        values = ", ".join(f"({k}, '2024-01-01 10:0{k}+00', 0)" for k in range(6))
        fm.execute(f"INSERT INTO t VALUES {values}")
        fm.clock.set(_at(10_000))  # type: ignore[attr-defined]
        epochs = fm.advance()
        times = [_at(12) - MICROSECOND, _at(14) - MICROSECOND, _at(10_000)]
        assert [epoch.now for epoch in epochs] == times
        assert [epoch.objects["t"].timed_rows for epoch in epochs] == [2, 2, 2]


@pytest.mark.long
@pytest.mark.parametrize("sql", [WRITTEN, BY_COLUMN], ids=["written", "column"])
def test_rows_in_a_layer_go_too(site: Site, sql: str) -> None:
    limits = Limits(layer_bytes=0, layer_rows=0, layer_factor=0, rewrite_bytes=0)
    site.define(sql.replace(", ts TIMESTAMPTZ, a INT", ", a INT, ts TIMESTAMPTZ DEFAULT now()"))
    with site.connect(limits=limits) as fm:
        _go_to(fm, 0)
        fm.execute("INSERT INTO t (k, a) VALUES (1, 1), (2, 2), (3, 3)")
        _go_to(fm, 2)
        fm.execute("UPDATE t SET a = 20 WHERE k = 2")
        fm.execute("DELETE FROM t WHERE k = 3")
        _go_to(fm, 4)
        fm.execute("INSERT INTO t (k, a) VALUES (2, 20), (4, 4)")
        assert any(name.startswith("_state") or "layer" in name for name in _record(fm).versions)
        _go_to(fm, 10)
        assert _all(fm, "SELECT k, a FROM t ORDER BY k") == [(2, 20), (4, 4)]
        _go_to(fm, 14)
        assert _all(fm, "SELECT k, a FROM t") == []
        fm.maintain()
        assert _go_to(fm, 10_000) <= 1
        assert _go_to(fm, 20_000) == 0
        _replays(fm)


def _interrupted(fm: Floodmark) -> None:
    fm.execute("BEGIN")
    fm.execute("INSERT INTO t VALUES (1, 1), (4, 4)")
    fm.execute(
        "INSERT INTO f VALUES (2, '2024-01-01 10:21', 'late'), (1, '2024-01-01 10:31', 'aa')"
    )
    fm.execute("INSERT INTO f VALUES (2, '2024-01-01 10:19', 'late')")
    fm.execute("COMMIT")


class Crash(BaseException):
    """Stands for a power cut: nothing catches it."""


@pytest.mark.parametrize(
    "point",
    [
        "sink_committed",
        pytest.param("files_written", marks=pytest.mark.long),
        pytest.param("first_table_committed", marks=pytest.mark.long),
        pytest.param("state_committed", marks=pytest.mark.long),
        pytest.param("before_seal", marks=pytest.mark.long),
    ],
)
def test_an_interrupted_epoch_ends_as_an_undisturbed_one(
    site: Site, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def reach(name: str) -> None:
        if name == point:
            raise Crash

    site.define(WRITTEN, FADING.replace("t (", "f (").replace("w AS", "x AS").replace(
        "FROM t", "FROM f"))  # fmt: skip
    with site.connect() as fm:
        _go_to(fm, 0)
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        fm.execute("INSERT INTO f VALUES (1, '2024-01-01 10:00', 'a')")
        fm.execute("INSERT INTO f VALUES (2, '2024-01-01 10:30', 'b')")
    site.copy("warehouse", "other")
    with site.connect() as fm, monkeypatch.context() as patch:
        fm.clock.set(_at(10))  # type: ignore[attr-defined]
        patch.setattr(failpoints, "reach", reach)
        with pytest.raises(Crash):
            _interrupted(fm)
    for name in ("warehouse", "other"):
        with site.connect(name) as fm:
            fm.clock.set(_at(10))  # type: ignore[attr-defined]
            if name == "other":
                _interrupted(fm)
            fm.advance()
            assert _all(fm, "SELECT k FROM t ORDER BY k") == [(1,), (4,)]
            assert _all(fm, "SELECT k, v FROM f") == [(1, "aa")]
            _replays(fm)
    assert digests(site.root / "warehouse") == digests(site.root / "other")


def test_discarded_rows_go_unheard_and_leave_the_disk(site: Site) -> None:
    site.define(SEEN)
    with site.connect() as fm:
        _go_to(fm, 0)
        fm.execute("INSERT INTO t VALUES (1, '2024-01-01 10:00'), (2, '2024-01-01 10:05'), "
                   "(3, '2024-01-01 09:50')")  # fmt: skip
        record = _record(fm)
        assert (record.rows_in, record.rows_out, record.expired_rows) == (3, 2, 1)
        assert record.due is None
        fm.execute("INSERT INTO u VALUES (1)")
        assert _all(fm, "SELECT k FROM t ORDER BY k") == [(1,), (2,)]
        _go_to(fm, 11)
        fm.execute("INSERT INTO u VALUES (2)")
        assert _all(fm, "SELECT k FROM t") == [(2,)]
        assert _all(fm, "SELECT k FROM u") == [(2,)]
        assert _all(fm, "SELECT * FROM n") == [(2,)]
        fm.execute("CREATE MATERIALIZED VIEW later AS SELECT k FROM t")
        assert _all(fm, "SELECT * FROM later") == [(2,)]
        assert contents(site.root / "warehouse", "public/t").num_rows == 2
        fm.maintain()
        assert contents(site.root / "warehouse", "public/t").num_rows == 1
        assert contents(site.root / "warehouse", "public/u").num_rows == 1
        _go_to(fm, 60)
        fm.execute("INSERT INTO t VALUES (4, '2024-01-01 11:00'), (5, '2024-01-01 10:20')")
        assert _all(fm, "SELECT k FROM t") == [(4,)]
        assert _all(fm, "SELECT * FROM n") == [(3,)]
        assert _all(fm, "SELECT k FROM later ORDER BY k") == [(2,), (4,)]
        fm.maintain()
        assert _all(fm, "SELECT k FROM t") == [(4,)]
        _replays(fm)


def test_below_the_watermark_a_row_counts_as_absent(site: Site) -> None:
    site.define(FADING)
    with site.connect() as fm:
        _go_to(fm, 0)
        fm.execute(
            "INSERT INTO t VALUES (1, '2024-01-01 10:00', 'a'), (2, '2024-01-01 10:20', 'b')"
        )
        assert _all(fm, "SELECT k FROM t") == [(2,)]
        fm.execute("DELETE FROM t WHERE k = 1")
        fm.execute("INSERT INTO t VALUES (1, '2024-01-01 10:21', 'aa')")
        assert _all(fm, "SELECT k, v FROM t ORDER BY k") == [(1, "aa"), (2, "b")]
        assert _all(fm, "SELECT k, v FROM w ORDER BY k, u") == [(1, "a"), (1, "aa"), (2, "b")]
        fm.execute("INSERT INTO t VALUES (1, '2024-01-01 10:05', 'late')")
        record = _record(fm)
        assert (record.rows_in, record.late_rows, record.rows_out) == (1, 1, 1)
        assert _all(fm, "SELECT k, v FROM t__late") == [(1, "late")]
        assert _all(fm, "SELECT k, v FROM w ORDER BY k, u") == [(1, "a"), (2, "b")]
        assert contents(site.root / "warehouse", "public/t").num_rows == 2
        fm.maintain()
        assert contents(site.root / "warehouse", "public/t").num_rows == 1
        fm.execute("UPDATE t SET v = 'B', u = u + INTERVAL '1 minute' WHERE k = 2")
        assert _all(fm, "SELECT k, v FROM w ORDER BY k, u") == [(1, "a"), (2, "B")]
        _replays(fm)


def test_a_connector_brings_late_rows(site: Site) -> None:
    put(site.landing, "1", [(1, "a", 0, 1), (2, "b", 30, 2)])
    site.define("""
CREATE TABLE t (id BIGINT, k VARCHAR PRIMARY KEY, ts TIMESTAMP, v INT,
                WATERMARK FOR ts AS ts - INTERVAL '10 minutes' WITH TTL)
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE PARQUET;
CREATE MATERIALIZED VIEW w AS SELECT k, v FROM t;
""")
    with site.connect() as fm:
        _go_to(fm, 0)
        assert _all(fm, "SELECT k, v FROM t") == [("b", 2)]
        put(site.landing, "2", [(3, "a", 31, 3), (4, "b", 19, 4), (5, "c", 40, 5)])
        _go_to(fm, 1)
        record = _record(fm)
        assert (record.rows_in, record.late_rows, record.rows_out) == (3, 1, 3)
        assert _all(fm, "SELECT k, v FROM t ORDER BY k") == [("a", 3), ("c", 5)]
        assert _all(fm, "SELECT k, v FROM w ORDER BY k, v") == [("a", 1), ("a", 3), ("c", 5)]
        assert _all(fm, "SELECT k, v FROM t__late") == [("b", 4)]
        _replays(fm)


FED = """
CREATE SOURCE s (
    id BIGINT, k VARCHAR, ts TIMESTAMP, v INT
) WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE t (k VARCHAR PRIMARY KEY, u TIMESTAMP NOT NULL, v INT,
                WATERMARK FOR u AS u - INTERVAL '1 hour' WITH TTL);
CREATE SINK into_t INTO t AS SELECT k, ts, v FROM s;
CREATE TABLE g (k VARCHAR PRIMARY KEY, n BIGINT) WITH (ttl = '1 hour');
CREATE SINK into_g INTO g AS SELECT k, count(*) FROM s GROUP BY k;
CREATE TABLE l (id BIGINT, u TIMESTAMP, WATERMARK FOR u AS u - INTERVAL '1 hour') APPEND ONLY
    WITH (ttl = '746 hours', ttl_column = u, ttl_mode = 'delete');
CREATE SINK into_l INTO l AS SELECT id, ts FROM s;
"""


def test_sinks_write_tables_whose_rows_end(site: Site) -> None:
    put(site.landing, "1", readings(0, 30))
    site.define(FED)
    with site.connect() as fm:
        fm.clock.set(datetime(2013, 2, 1, 5, tzinfo=UTC))  # type: ignore[attr-defined]
        fm.advance()
        for name in ("t", "g", "l"):
            record = _record(fm, name)
            assert record.rows_in == (5 if name == "g" else 30)
            changed = record.rows_in - record.ignored_rows - record.expired_rows
            assert changed - record.late_rows - record.dead_rows == record.rows_out
        assert _record(fm, "l").late_rows == 0 and _record(fm, "l").expired_rows == 21
        put(site.landing, "2", readings(30, 10))
        fm.clock.set(datetime(2013, 2, 1, 5, 30, tzinfo=UTC))  # type: ignore[attr-defined]
        fm.advance()
        record = _record(fm, "l")
        assert (record.rows_in, record.late_rows) == (10, 1)
        record = _record(fm, "t")
        assert (record.rows_in, record.late_rows) == (10, 1)
        assert _go_to(fm, 0) == 1
        assert _all(fm, "SELECT * FROM g") == _all(fm, "SELECT * FROM l") == []
        _replays(fm)


@pytest.mark.parametrize("column", [", ttl_column = ts", pytest.param("", marks=pytest.mark.long)])
def test_a_discarded_row_holds_its_key_no_more(site: Site, column: str) -> None:
    site.define(
        "CREATE TABLE t (k INT PRIMARY KEY, ts TIMESTAMPTZ, v INT) APPEND ONLY "
        f"WITH (ttl = '10 minutes'{column});"
        "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;"
    )
    insert = "INSERT INTO t VALUES ({}, '2024-01-01 10:{:02}:00Z', {}) RETURNING v"
    with site.connect() as fm:
        _go_to(fm, 0)
        fm.execute(insert.format(1, 0, 1))
        assert not fm.execute(insert.format(1, 0, 2)).rows
        _go_to(fm, 11)
        fm.execute(insert.format(2, 11, 2))
        assert _all(fm, "SELECT k, v FROM t") == [(2, 2)]
        assert fm.execute(insert.format(1, 11, 5)).rows == ((5,),)
        assert sorted(_all(fm, "SELECT k, v FROM t")) == [(1, 5), (2, 2)]
        assert _record(fm).ignored_rows == 0
        assert not fm.execute(insert.format(1, 11, 6)).rows
        assert _all(fm, "SELECT n FROM n") == [(3,)]
        fm.maintain()
        assert sorted(_all(fm, "SELECT k, v FROM t")) == [(1, 5), (2, 2)]
        _go_to(fm, 22)
        fm.execute(insert.format(1, 22, 7))
        assert _all(fm, "SELECT k, v FROM t") == [(1, 7)]


def test_rows_that_are_gone_are_not_computed_with_again(site: Site) -> None:
    site.define(
        """CREATE TABLE t (k INT, v INT) APPEND ONLY WITH (retention_seconds = 600);
        CREATE TABLE u (k INT PRIMARY KEY, s BIGINT);
        CREATE MATERIALIZED VIEW m AS SELECT k, sum(v)::bigint AS s FROM t GROUP BY k;"""
    )
    query = "SELECT k, sum(v)::bigint {} AS s FROM t GROUP BY k"
    with site.connect() as fm:
        _go_to(fm, 0)
        fm.execute(f"CREATE SINK s INTO u AS {query.format('')}")
        fm.execute("INSERT INTO t VALUES (1, 1), (1, 2), (2, 3)")
        _go_to(fm, 11)
        fm.execute("INSERT INTO t VALUES (1, 10)")
        assert sorted(_all(fm, "SELECT * FROM m")) == [(1, 13), (2, 3)]
        for statement in (
            f"ALTER MATERIALIZED VIEW m AS {query.format('+ 1')}",
            "ALTER MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v",
            f"ALTER SINK s AS {query.format('+ 1')}",
            "ALTER SINK s AS SELECT k, s FROM m",
        ):
            with pytest.raises(FloodmarkError, match="E0854"):
                fm.execute(statement)
        files = (site.pipelines / "all.sql").read_text()
        site.define(files.replace("sum(v)::bigint", "sum(v)::bigint + 1"))
        with pytest.raises(FloodmarkError, match="E0854"):
            fm.apply(site.pipelines)
        for name in ("m", "u"):
            assert sorted(_all(fm, f"SELECT * FROM {name}")) == [(1, 13), (2, 3)]
        fm.execute(f"ALTER SINK s AS {query.format('+ 1')} WITH (backfill = 'none')")
        assert sorted(_all(fm, "SELECT * FROM u")) == [(1, 13), (2, 3)]
        fm.apply(site.pipelines, discard_rows=True)
        assert sorted(_all(fm, "SELECT * FROM m")) == [(1, 11)]
