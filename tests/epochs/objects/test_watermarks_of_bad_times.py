"""Times that are wrong: at the ends of the calendar, none at all, a clock that goes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from floodmark.api import Floodmark
from floodmark.plan.declaration import ClockOptions, Term
from floodmark.scalar.types import DATE, TIMESTAMP
from tests.warehouses import Site, numbers, put_timed

START = datetime(2013, 2, 1, tzinfo=UTC)
SOURCE = """
CREATE SOURCE s (ts TIMESTAMP, a INT, WATERMARK FOR ts AS ts)
WITH (connector = 'files', path = '{landing}'{options}) FORMAT PLAIN ENCODE PARQUET;
CREATE MATERIALIZED VIEW v AS SELECT ts, a FROM s EMIT ON WINDOW CLOSE;
"""
WINDOWS = """
CREATE MATERIALIZED VIEW w AS SELECT window_start AS at, sum(a) AS a
FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start, window_end EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW h AS SELECT window_start AS at, sum(a) AS a
FROM HOP(s, ts, INTERVAL '1 hour', INTERVAL '2 hours') GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW l AS SELECT ts + INTERVAL '1 day' AS at, a FROM s EMIT ON WINDOW CLOSE;
"""
ENDS = (datetime(9999, 12, 31, 23, 59, 59), datetime(1, 1, 1))


def _at(minutes: float) -> datetime:
    return (START + timedelta(minutes=minutes)).replace(tzinfo=None)


def _to(fm: Floodmark, minutes: float) -> None:
    fm.clock.set(START + timedelta(minutes=minutes))  # type: ignore[attr-defined]


def test_a_delay_ends_where_time_does() -> None:
    options = ClockOptions(advance=(Term("c", timedelta(days=1)),))
    assert options.clock_values("c", TIMESTAMP, datetime(1, 1, 1), START) == []
    assert options.clock_values("c", DATE, datetime(1, 1, 3).date(), START) == [
        datetime(1, 1, 2).date()
    ]


@pytest.mark.spark
@pytest.mark.parametrize("end", ENDS, ids=["last", "first"])
def test_the_ends_of_the_calendar_suspend_nothing(site: Site, end: datetime) -> None:
    site.define(SOURCE.replace("{options}", ""), WINDOWS)
    with site.connect() as fm:
        put_timed(site.landing, "1", [(_at(0), 1), (end, 2)])
        fm.advance()
        put_timed(site.landing, "2", [(_at(90), 3), (None, 4)])
        fm.advance()
        assert fm.warehouse.log.suspensions() == {}
        late, closed = ([3], [1]) if end == ENDS[0] else ([2], [1])
        assert numbers(fm, "s__late") == late
        assert numbers(fm, "v") == numbers(fm, "w") == closed
        assert fm.execute("SELECT count(*) FROM s__dead_letter").rows == ((1,),)


@pytest.mark.spark
def test_a_clock_that_goes_back_takes_no_watermark_back(site: Site) -> None:
    site.define(SOURCE.replace("{options}", ", watermark.advance = 'now() - 10m'"))
    with site.connect() as fm:
        _to(fm, 0)
        put_timed(site.landing, "1", [(_at(0), 1)])
        fm.advance()
        _to(fm, 60)
        fm.advance()
        mark = fm.warehouse.cut().watermarks("s")["ts"]
        assert mark == _at(50) and numbers(fm, "v") == [1]
        _to(fm, 5)
        assert not fm.has_new() and fm.advance() == []
        put_timed(site.landing, "2", [(_at(4), 2), (_at(55), 3)])
        fm.advance()
        assert (numbers(fm, "s"), numbers(fm, "s__late")) == ([1, 3], [2])
        assert fm.warehouse.cut().watermarks("s")["ts"] == _at(55)


@pytest.mark.spark
def test_rows_without_times_and_none_at_all(site: Site) -> None:
    options = ", watermark.advance = 'max(ts) - 1m, now() - 10m', watermark.max_ahead = '1 hour'"
    site.define(SOURCE.replace("{options}", options))
    site.landing.mkdir()
    with site.connect() as fm:
        _to(fm, 0)
        fm.advance()
        _to(fm, 60)
        assert not fm.has_new(), "there is nothing to close"
        put_timed(site.landing, "1", [(None, 1), (_at(121), 2)])
        fm.advance()
        assert fm.warehouse.cut().watermarks("s")["ts"] - _at(50) < timedelta(milliseconds=1)
        put_timed(site.landing, "2", [(_at(49), 3), (_at(51), 4)])
        fm.advance()
        assert (numbers(fm, "s"), numbers(fm, "s__late")) == ([4], [3])
        reasons = fm.execute("SELECT reason FROM s__dead_letter ORDER BY reason").rows
        assert reasons == (("E0653",), ("E0658",))
