"""Corrections that are taken into a view's rows: what reads it follows, or refuses."""

from __future__ import annotations

from datetime import timedelta

import pytest

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.session.audit.checks import run_checks
from floodmark.session.inspect.reporting import reports
from floodmark.tools.corrections.correct import CorrectionResult, EpochSpan, correct, parse_time
from floodmark.tools.equivalence import differences
from tests.children import floodmark
from tests.warehouses import NOW, READINGS, START, WINDOWED, Site, differing, put

pytestmark = pytest.mark.spark

READERS = """
CREATE MATERIALIZED VIEW days AS
SELECT date_trunc('day', window_start) AS d, count(*) AS hours, max(n) AS most, min(sv) AS least
FROM h GROUP BY date_trunc('day', window_start);
CREATE TABLE t (hour TIMESTAMP PRIMARY KEY, n BIGINT);
CREATE SINK ht INTO t AS SELECT window_start, n FROM h;
"""
AGAIN = """
CREATE MATERIALIZED VIEW again AS
SELECT window_start, sum(n) AS n FROM h GROUP BY window_start EMIT ON WINDOW CLOSE;
"""


def _backfill(fm: Floodmark, end: int = 4) -> CorrectionResult:
    first = parse_time(START.isoformat())
    return correct(fm, "h", EpochSpan(first, first + timedelta(hours=end)), in_place=True)


def _fill(fm: Floodmark, site: Site) -> None:
    put(site.landing, "0", [(1, "a", 10, 5), (2, "a", 70, 6), (3, "b", 130, 7)])
    put(site.landing, "1", [(4, "a", 300, 1)])
    fm.advance(now=NOW)
    put(site.landing, "2", [(5, "a", 15, 8), (6, "b", 190, 2)])
    fm.advance(now=NOW)


def test_what_reads_the_view_follows_its_corrections(site: Site) -> None:
    site.define(READINGS, WINDOWED, READERS)
    with site.connect() as fm:
        _fill(fm, site)
        assert fm.execute("SELECT hours, most, least FROM days").rows == ((3, 1, 5),)
        done = _backfill(fm)
        assert done.rows == {"-U": 1, "+U": 1, "+I": 1}
        assert done.taken_in == fm.warehouse.log.head().sealed
        hour = timedelta(hours=1)
        assert sorted(fm.execute("SELECT window_start, n, sv FROM h").rows) == [
            (START, 2, 13), (START + hour, 1, 6),
            (START + 2 * hour, 1, 7), (START + 3 * hour, 1, 2),
        ]  # fmt: skip
        assert fm.execute("SELECT hours, most, least FROM days").rows == ((4, 2, 2),)
        assert len(fm.execute("SELECT * FROM t").rows) == 4
        outcomes = run_checks(fm.warehouse, reports(fm.warehouse, {}), {})
        assert [o for found in outcomes.values() for o in found if not o.is_passed] == []
        replayed = fm.replay(done.taken_in)
        assert differing(replayed) == []

        # Nothing is left to do, other definitions leave the rows, and later windows close as ever.
        assert not _backfill(fm).taken_in
        fm.execute("CREATE MATERIALIZED VIEW st AS SELECT k, count(*) AS n FROM s GROUP BY k")
        put(site.landing, "3", [(7, "c", 700, 4)])
        fm.advance(now=NOW)
        assert len(fm.execute("SELECT * FROM h").rows) == 5
        put(site.landing, "4", [(8, "a", 20, 1), (9, "c", 301, 1)])
        fm.advance(now=NOW)
        assert _backfill(fm, end=10).rows == {"-U": 2, "+U": 2}
        assert (START, 3, 14) in fm.execute("SELECT window_start, n, sv FROM h").rows
        assert (START + 5 * hour, 2, 2) in fm.execute("SELECT window_start, n, sv FROM h").rows
        assert differences(fm, "days") == 0
        assert fm.execute("SELECT hours, most FROM days").rows == ((5, 3),)


def test_what_cannot_take_rows_back_refuses(site: Site) -> None:
    site.define(READINGS, WINDOWED, READERS)
    with site.connect() as fm:
        _fill(fm, site)
        fm.execute("INSERT INTO t VALUES (TIMESTAMP '2012-01-01 00:00:00', 0)")
        with pytest.raises(FloodmarkError, match="statements wrote rows into it") as raised:
            _backfill(fm)
        assert raised.value.code == "E0305" and not fm.store.exists("_corrections/public/h")
        fm.execute("DROP SINK ht")
        fm.execute(AGAIN)
        with pytest.raises(FloodmarkError, match="take back what it has closed"):
            _backfill(fm)
        fm.execute("DROP MATERIALIZED VIEW again")
        assert _backfill(fm).taken_in


@pytest.mark.parametrize("failpoint", ["offsets_logged", "view_committed"])
def test_a_killed_backfill_in_place_is_finished_by_the_next_run(site: Site, failpoint: str) -> None:
    site.define(READINGS, WINDOWED, READERS)
    with site.connect() as fm:
        _fill(fm, site)
    floodmark(
        "backfill", "h", "--from", "2013-01-01", "--to", "2013-01-01T04:00", "--in-place",
        "--warehouse", str(site.root / "warehouse"), failpoint=failpoint,
    )  # fmt: skip
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert (START, 2, 13) in fm.execute("SELECT window_start, n, sv FROM h").rows
        assert fm.execute("SELECT hours, most, least FROM days").rows == ((4, 2, 2),)
        assert not _backfill(fm).taken_in
