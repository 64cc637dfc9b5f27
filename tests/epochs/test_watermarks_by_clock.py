"""Watermarks that go by the clock: epochs of time alone, and what is not taken for silence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.storage.files.imported_files import is_delivered
from tests.warehouses import Site, differing, dying_at, numbers, put_timed, replay_all

pytestmark = pytest.mark.spark

START = datetime(2013, 2, 1, tzinfo=UTC)
SOON = timedelta(milliseconds=1)
"""Epochs at one time are microseconds apart."""
SOURCE = """
CREATE SOURCE s (ts TIMESTAMPTZ, a INT, WATERMARK FOR ts AS ts - INTERVAL '1 minute')
WITH (connector = 'files', path = '{landing}', {options}) FORMAT PLAIN ENCODE PARQUET;
"""
VIEWS = """
CREATE MATERIALIZED VIEW w AS SELECT window_start AS at, sum(a) AS a
FROM TUMBLE(s, ts, INTERVAL '10 minutes') GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW v AS SELECT a FROM s;
"""
LEVELS = """
CREATE MATERIALIZED VIEW hourly AS SELECT window_start, sum(a) AS a
FROM TUMBLE(w, at, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE TABLE t (at TIMESTAMPTZ, a BIGINT, WATERMARK FOR at AS at) APPEND ONLY;
CREATE SINK k INTO t AS SELECT window_start, sum(a)
FROM TUMBLE(s, ts, INTERVAL '20 minutes') GROUP BY window_start EMIT ON WINDOW CLOSE;
"""


def _at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def _to(fm: Floodmark, minutes: float) -> None:
    fm.clock.set(_at(minutes))  # type: ignore[attr-defined]


def _put(folder: Path, name: str, *rows: tuple[float, int]) -> Path:
    return put_timed(folder, name, [(_at(m), a) for m, a in rows], "UTC")


def _define(site: Site, options: str, *texts: str) -> None:
    site.landing.mkdir()
    site.define(SOURCE.replace("{options}", options), *texts)


def _waits_until(fm: Floodmark, minutes: float) -> bool:
    """Tell whether nothing happens before a time, and something does at it."""
    return not fm.has_new(now=_at(minutes) - timedelta(microseconds=1)) and fm.has_new(
        now=_at(minutes)
    )


def test_each_view_is_closed_by_one_epoch_of_time_alone(site: Site) -> None:
    _define(site, "watermark.advance = 'now() - 5m'", VIEWS, LEVELS)
    with site.connect() as fm:
        _to(fm, 16)
        _put(site.landing, "1", (1, 1), (12, 2), (15, 3))
        fm.advance()
        assert numbers(fm, "w") == [1]
        assert fm.warehouse.cut().watermarks("s") == {"ts": _at(14)}
        assert _waits_until(fm, 25)
        _to(fm, 25)
        (summary,) = fm.advance()
        assert {r.object for r in summary.changes} == {"w", "hourly", "t"}
        assert (numbers(fm, "w"), numbers(fm, "t"), numbers(fm, "hourly")) == ([1, 5], [6], [])
        assert _waits_until(fm, 65), "the hour is over, of a view on a view"
        assert not fm.has_new(["v"], _at(65)) and fm.has_new(["hourly"], _at(65))
        _to(fm, 65)
        (summary,) = fm.advance()
        assert [r.object for r in summary.changes if r.rows_out] == ["hourly"]
        assert numbers(fm, "hourly") == [6]
        assert not fm.has_new(now=_at(10_000)), "there is nothing left to close"
        assert fm.advance() == []
        assert differing(replay_all(fm)) == []


def test_what_comes_below_an_advanced_watermark_is_late(site: Site) -> None:
    _define(site, "watermark.advance = 'now() - 5m'", VIEWS)
    with site.connect() as fm:
        _to(fm, 16)
        _put(site.landing, "1", (15, 1))
        fm.advance()
        _to(fm, 30)
        fm.advance()
        _put(site.landing, "2", (24, 2), (25, 3), (26, 4), (24.5, 5))
        fm.advance()
        assert (numbers(fm, "v"), numbers(fm, "s__late")) == ([1, 3, 4], [2, 5])
        marks = fm.execute("SELECT a, watermark FROM s__late ORDER BY a").rows
        assert {mark for _, mark in marks} == {str(_at(25))[:19]}
        assert differing(replay_all(fm)) == []


def test_a_source_that_is_behind_or_out_of_reach_is_not_silent(site: Site) -> None:
    _define(site, "watermark.advance = 'now() - 5m', max_rows_per_epoch = 2", VIEWS)
    with site.connect() as fm:
        _to(fm, 60)
        _put(site.landing, "1", (1, 1), (2, 2))
        _put(site.landing, "2", (3, 3), (4, 4))
        _put(site.landing, "3", (5, 5), (6, 6))
        fm.advance(1)
        assert fm.warehouse.cut().watermarks("s") == {"ts": _at(1)}
        fm.execute("CREATE TABLE other (k INT)")
        fm.execute("INSERT INTO other VALUES (1)")
        assert fm.warehouse.cut().watermarks("s") == {"ts": _at(1)}, "a statement asks no source"
        fm.advance()
        assert numbers(fm, "v") == [1, 2, 3, 4, 5, 6]
        mark = fm.warehouse.cut().watermarks("s")["ts"]
        assert _at(55) <= mark < _at(55) + SOON
        _put(site.landing, "4", (56, 7))
        fm.advance()
        away = site.landing.rename(site.root / "away")
        for ask in (lambda: fm.has_new(now=_at(90)), fm.advance):
            with pytest.raises(FloodmarkError):
                ask()
        away.rename(site.landing)
        _to(fm, 90)
        assert fm.has_new()
        fm.advance()
        assert numbers(fm, "w") == [7, 21]


@pytest.mark.parametrize("point", ["offsets_logged", "view_committed", "before_seal", "after_seal"])
def test_an_epoch_of_time_alone_is_done_once(site: Site, point: str) -> None:
    _define(site, "watermark.advance = 'now() - 5m'", VIEWS)

    with site.connect() as fm:
        _to(fm, 16)
        _put(site.landing, "1", (15, 1))
        fm.advance()
        _to(fm, 30)
        with dying_at(point):
            fm.advance()
    with site.connect() as fm:
        _to(fm, 31)
        _put(site.landing, "2", (25, 2), (24, 3))
        fm.advance()
        assert (numbers(fm, "w"), numbers(fm, "s__late")) == ([1], [3])
        assert differing(replay_all(fm)) == []


def test_a_connector_of_a_table_that_is_silent_is_waited_for_no_longer(site: Site) -> None:
    _define(site, "watermark.idle_after = '10m'")
    text = (site.pipelines / "all.sql").read_text()
    text = text.replace("CREATE SOURCE", "CREATE TABLE").replace(") WITH", ") APPEND ONLY WITH")
    text = text.replace(")\nWITH", ") APPEND ONLY\nWITH")
    site.define(text, "CREATE MATERIALIZED VIEW v AS SELECT ts, a FROM s EMIT ON WINDOW CLOSE;")
    with site.connect() as fm:
        _to(fm, 0)
        fm.advance()
        _put(site.landing, "1", (0, 1))
        fm.advance()
        _to(fm, 5)
        fm.execute(f"INSERT INTO s VALUES ('{_at(8)}', 2), ('{_at(3)}', 3)")
        assert fm.warehouse.cut().watermarks("s") == {"ts": _at(-1)}
        assert not fm.has_new(now=_at(10) - SOON) and fm.has_new(now=_at(10) + SOON)
        _to(fm, 11)
        (summary,) = fm.advance()
        assert [r.object for r in summary.changes] == ["v"]
        assert fm.warehouse.cut().watermarks("s") == {"ts": _at(7)}
        assert numbers(fm, "v") == [1, 3]
        _put(site.landing, "2", (6, 4), (7, 5))
        fm.advance()
        assert (numbers(fm, "s"), numbers(fm, "s__late")) == ([1, 2, 3, 5], [4])
        assert not fm.has_new(now=_at(10_000))
        assert differing(replay_all(fm)) == []


def test_files_are_taken_over_where_statistics_say_that_none_is_ahead(site: Site) -> None:
    _define(site, "watermark.max_ahead = '10 minutes'", VIEWS)
    with site.connect() as fm:
        _to(fm, 0)
        _put(site.landing, "1", (9, 1), (10, 2))
        fm.advance()
        _put(site.landing, "2", (10, 3), (11, 4))
        fm.advance()
        record = fm.warehouse.cut().records["s"]
        table = next(t for t in record.versions if t.endswith("/s"))
        files = fm.store.open(table, record.versions[table]).files
        assert sorted(is_delivered(file) for file in files) == [False, True]
        assert (numbers(fm, "s"), record.dead_rows) == ([1, 2, 3], 1)
        assert record.watermarks == {"ts": _at(9)}
        dead = fm.execute("SELECT reason, expression FROM s__dead_letter").rows
        assert dead == (("E0658", "watermark.max_ahead"),)
