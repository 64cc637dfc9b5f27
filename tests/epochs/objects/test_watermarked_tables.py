"""Watermarks on append-only tables: statements, sinks, a connector beside them, crashes, replay."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from floodmark.api import Floodmark
from floodmark.errors import BindError
from tests.warehouses import START, Site, differing, dying_at, numbers, put_timed, replay_all

pytestmark = pytest.mark.spark

TABLE = """
CREATE TABLE t (ts TIMESTAMP, a INT, WATERMARK FOR ts AS ts - INTERVAL '1 minute') APPEND ONLY;
"""
CLOSING = "CREATE MATERIALIZED VIEW w AS SELECT ts, a FROM t EMIT ON WINDOW CLOSE;"
CONNECTED = """
CREATE TABLE t (ts TIMESTAMP, a INT, WATERMARK FOR ts AS ts) APPEND ONLY
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE PARQUET;
"""


def _at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def _insert(fm: Floodmark, *rows: tuple[int | None, int]) -> int:
    times = ("NULL" if m is None else f"TIMESTAMP '{_at(m)}'" for m, _ in rows)
    values = ", ".join(f"({at}, {a})" for at, (_, a) in zip(times, rows, strict=True))
    return fm.execute(f"INSERT INTO t VALUES {values}").rowcount


def _put(folder: Path, name: str, *rows: tuple[int | None, int]) -> Path:
    return put_timed(folder, name, [(None if m is None else _at(m), a) for m, a in rows])


def test_statements_are_filtered_and_close_windows(site: Site) -> None:
    site.define(TABLE, CLOSING)
    with site.connect() as fm:
        fm.advance()
        assert _insert(fm, (10, 1), (0, 2)) == 2
        assert _insert(fm, (9, 3), (8, 4), (None, 5)) == 3
        assert numbers(fm, "t") == [1, 2, 3]
        assert numbers(fm, "w") == [2]
        late = fm.execute("SELECT a, epoch, watermark FROM t__late").rows
        assert late == ((4, 3, str(_at(9))),)
        dead = fm.execute("SELECT reason, expression, row FROM t__dead_letter").rows
        assert dead == (("E0653", "WATERMARK FOR ts", '{"ts":null,"a":5}'),)
        record = fm.warehouse.cut().records["t"]
        counts = (record.rows_in, record.rows_out, record.late_rows, record.dead_rows)
        assert (counts, record.watermarks) == ((3, 1, 1, 1), {"ts": _at(9)})
        assert _insert(fm, (30, 6)) == 1
        assert numbers(fm, "w") == [1, 2, 3]
        assert differing(replay_all(fm)) == []


def test_rows_of_an_append_only_table_do_not_change(site: Site) -> None:
    site.define(TABLE)
    with site.connect() as fm:
        fm.advance()
        _insert(fm, (10, 1))
        for text in ("UPDATE t SET a = 2", "DELETE FROM t"):
            with pytest.raises(BindError) as refused:
                fm.execute(text)
            assert refused.value.code == "E0232"
        # The rows of a transaction count as one row: none of them makes another one late.
        fm.execute("BEGIN")
        _insert(fm, (60, 2))
        _insert(fm, (10, 3))
        fm.execute("COMMIT")
        assert numbers(fm, "t") == [1, 2, 3]
        _insert(fm, (10, 4))
        assert numbers(fm, "t") == [1, 2, 3]


def test_a_new_view_takes_rows_below_the_watermark_as_they_are(site: Site) -> None:
    site.define(TABLE)
    with site.connect() as fm:
        fm.advance()
        _insert(fm, (0, 1), (5, 2), (30, 3))
        _insert(fm, (40, 4))
        fm.execute(CLOSING)
        fm.execute("CREATE MATERIALIZED VIEW every AS SELECT a FROM t")
        fm.execute(
            "CREATE MATERIALIZED VIEW sums AS SELECT window_start, sum(a) AS a "
            "FROM TUMBLE(t, ts, INTERVAL '10 minutes') GROUP BY window_start EMIT ON WINDOW CLOSE"
        )
        assert numbers(fm, "every") == [1, 2, 3, 4]
        assert numbers(fm, "w") == [1, 2, 3]
        assert numbers(fm, "sums") == [3]
        _insert(fm, (41, 5))
        assert (numbers(fm, "w"), numbers(fm, "sums")) == ([1, 2, 3], [3, 3])
        assert differing(replay_all(fm)) == []


def test_a_connector_holds_the_watermark_back_and_statements_do_not(site: Site) -> None:
    site.define(CONNECTED, CLOSING)
    site.landing.mkdir()
    with site.connect() as fm:
        fm.advance()
        _insert(fm, (10, 1))
        assert fm.warehouse.cut().watermarks("t") == {}
        _put(site.landing, "1", (5, 2), (4, 3), (6, 4), (None, 5))
        fm.advance()
        assert fm.warehouse.cut().watermarks("t") == {"ts": _at(6)}
        assert (numbers(fm, "t__late"), numbers(fm, "w")) == ([3], [2])
        _insert(fm, (9, 6), (10, 7))
        assert numbers(fm, "t__late") == [3, 6], "it is behind the statements before it"
        _put(site.landing, "2", (8, 8))
        fm.advance()
        assert fm.warehouse.cut().watermarks("t") == {"ts": _at(8)}
        assert (numbers(fm, "t"), numbers(fm, "w")) == ([1, 2, 4, 7, 8], [2, 4])
        assert differing(replay_all(fm)) == []


SUNK = """
CREATE SOURCE s (ts TIMESTAMP, a INT, WATERMARK FOR ts AS ts)
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE t (ts TIMESTAMP, a BIGINT, WATERMARK FOR ts AS ts) APPEND ONLY;
CREATE SINK k INTO t AS SELECT window_start, sum(a) FROM TUMBLE(s, ts, INTERVAL '3 minutes')
GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE SINK every INTO t AS SELECT ts, a FROM s;
"""
POINTS = ["files_written", "dead_letter_committed", "sink_committed", "before_seal", "after_seal"]


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_epoch_is_done_once(site: Site, point: str) -> None:
    site.define(SUNK, CLOSING)
    with site.connect() as fm:
        _put(site.landing, "1", (1, 1), (2, 2))
        fm.advance()
        _put(site.landing, "2", (9, 3), (9, 4), (None, 5))
        _put(site.landing, "3", (12, 6))

        with dying_at(point):
            fm.advance()
    with site.connect() as fm:
        fm.advance()
        records = fm.warehouse.cut().records
        assert records["t"].watermarks == {"ts": _at(12)}
        assert numbers(fm, "t") == [1, 2, 3, 4, 6, 7]
        assert numbers(fm, "t__late") == [3], "the first window closes after later rows came"
        assert numbers(fm, "w") == [1, 2, 3, 4, 7]
        assert differing(replay_all(fm)) == []


def test_an_attempt_that_stored_all_needs_its_file_no_more(site: Site) -> None:
    site.define(CONNECTED, CLOSING)
    with site.connect() as fm:
        _put(site.landing, "1", (1, 1))
        fm.advance()
        second = _put(site.landing, "2", (9, 2), (3, 3), (None, 4))

        with dying_at("sink_committed"):
            fm.advance()
        second.unlink()
    with site.connect() as fm:
        fm.advance()
        record = fm.warehouse.cut().records["t"]
        counts = (record.rows_in, record.rows_out, record.late_rows, record.dead_rows)
        assert (counts, record.watermarks) == ((3, 1, 1, 1), {"ts": _at(9)})
        assert (numbers(fm, "t"), numbers(fm, "t__late")) == ([1, 2], [3])
        assert numbers(fm, "w") == [1]
