"""`kill -9` at every failpoint of an epoch; the next run ends where an undisturbed one does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

import pytest

from floodmark.api import connect
from floodmark.failpoints import NAMES as FAILPOINTS
from floodmark.spark.session import Sessions
from floodmark.storage.logs.epochs import EpochLog
from floodmark.testing import FixedClock
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    READINGS,
    RECOMPUTED,
    SUNK,
    Site,
    contents,
    digests,
    put,
    readings,
)

AT_ONCE = 2
"""How many killed runs, each on a warehouse of its own, share the machine."""
WITHIN = (
    "first_table_committed:2", "first_table_committed:4", "view_committed:3", "sink_committed",
    "dead_letter_committed",
)  # fmt: skip
"""Points that an epoch passes once per object: here not the first of them."""
ENDING = """
CREATE TABLE e (k VARCHAR PRIMARY KEY, n BIGINT) WITH (ttl = '1 hour');
CREATE SINK into_e INTO e AS SELECT k, count(*) FROM s GROUP BY k;
CREATE MATERIALIZED VIEW ended AS SELECT count(*) AS c, max(n) AS m FROM e;
CREATE TABLE f (k VARCHAR PRIMARY KEY, ts TIMESTAMP NOT NULL, v INT,
                WATERMARK FOR ts AS ts - INTERVAL '20 minutes' WITH TTL);
CREATE SINK into_f INTO f AS SELECT k, ts, v FROM s;
CREATE MATERIALIZED VIEW faded AS SELECT k, ts, v FROM f;
"""
"""Tables whose rows end: by the time of their last write, and below a watermark."""
ENDS = ("files_written", "state_committed", "first_table_committed", "sink_committed:2")
pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class After:
    """What is at rest after a run was killed and the next one has ended."""

    sealed: int
    digests: dict[str, str]


def after(site: Site, name: str) -> After:
    """Return what is at rest in a warehouse."""
    root = site.root / name
    head = EpochLog(root).head()
    assert head.open is None
    return After(head.sealed, digests(root))


def killed(site: Site, failpoint: str) -> After:
    """Kill `floodmark run` at a failpoint and run it again, on a copy of the warehouse."""
    name = failpoint.replace(":", "_")
    copy = site.copy("warehouse", name)
    site.kill_at(failpoint, name)
    ended = site.run(name)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = after(site, name)
    shutil.rmtree(copy)
    return found


@dataclass(frozen=True)
class Case:
    """What an undisturbed run ends in, and what killed ones do."""

    site: Site
    expected: After
    runs: dict[str, Future[After]]

    def check(self, failpoint: str) -> None:
        """Compare every table, hidden columns too, and the number of epochs."""
        assert self.runs[failpoint].result() == self.expected


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Yield the threads that wait for the killed runs."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        yield threads
        threads.shutdown(cancel_futures=True)


def _case(site: Site, pool: ThreadPoolExecutor, failpoints: list[str]) -> Case:
    runs = {failpoint: pool.submit(killed, site, failpoint) for failpoint in failpoints}
    return Case(site, after(site, "undisturbed"), runs)


def _chosen(request: pytest.FixtureRequest, test: str) -> list[str]:
    """Return the failpoints for which this session of pytest selected a test."""
    return [
        item.callspec.params["failpoint"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == test
    ]


@pytest.fixture(scope="module")
def small(
    tmp_path_factory: pytest.TempPathFactory,
    sessions: Sessions,
    pool: ThreadPoolExecutor,
    request: pytest.FixtureRequest,
) -> Case:
    """Return a source with late rows, a join with dead letters, an aggregate, a table fed."""
    site = Site(tmp_path_factory.mktemp("small"), sessions)
    put(site.landing, "1", readings(0, 30))
    site.define(READINGS, NAMES, JOINED, GROUPED, RECOMPUTED, SUNK)
    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('z', 'Zeta')")
        fm.execute("INSERT INTO t (k, n) VALUES ('q', 1)")
        fm.advance(now=NOW)
    put(site.landing, "2", readings(30, 30))
    site.copy("warehouse", "undisturbed")
    with site.connect("undisturbed") as fm:
        assert len(fm.advance(now=NOW)) == 1
    return _case(site, pool, _chosen(request, "test_a_small_pipeline_survives"))


@pytest.fixture(scope="module")
def ending(
    tmp_path_factory: pytest.TempPathFactory,
    sessions: Sessions,
    pool: ThreadPoolExecutor,
    request: pytest.FixtureRequest,
) -> Case:
    """Return tables of which rows end in the epoch that is killed."""
    site = Site(tmp_path_factory.mktemp("ending"), sessions)
    put(site.landing, "1", readings(0, 30))
    site.define(READINGS, ENDING)
    before = FixedClock(NOW - timedelta(hours=2))
    with connect(
        site.root / "warehouse", site.pipelines, clock=before, sessions=lambda: sessions
    ) as fm:
        fm.execute("INSERT INTO e VALUES ('q', 1)")
        fm.advance()
        fm.execute("INSERT INTO f VALUES ('z', '2013-01-01 07:00', 0)")
    put(site.landing, "2", readings(30, 30))
    site.copy("warehouse", "undisturbed")
    with site.connect("undisturbed") as fm:
        (epoch,) = fm.advance(now=NOW)
        assert epoch.objects["e"].timed_rows == 1 and epoch.objects["f"].late_rows > 0
    return _case(site, pool, _chosen(request, "test_rows_that_end_do_so_once"))


@pytest.mark.parametrize(
    "failpoint", [ENDS[0], *(pytest.param(p, marks=pytest.mark.long) for p in ENDS[1:])]
)
def test_rows_that_end_do_so_once(ending: Case, failpoint: str) -> None:
    ending.check(failpoint)


@pytest.fixture(scope="module")
def real(week: Site, pool: ThreadPoolExecutor, request: pytest.FixtureRequest) -> Case:
    """Return a week of the demo's pipeline."""
    return _case(week, pool, _chosen(request, "test_a_week_of_the_demo_survives"))


@pytest.mark.long
@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_a_week_of_the_demo_survives(real: Case, failpoint: str) -> None:
    real.check(failpoint)


@pytest.mark.long
def test_the_week_has_late_rows_and_dead_letters(week: Site) -> None:
    root = week.root / "undisturbed"
    epoch = EpochLog(root).head().sealed
    for table in ("_late/public/departures", "_dead_letter/public/weather"):
        assert epoch in contents(root, table).column("__epoch").to_pylist(), table


def test_the_small_case_has_late_rows_and_dead_letters(small: Case) -> None:
    root = small.site.root / "undisturbed"
    assert contents(root, "_late/public/s").num_rows > 0
    assert contents(root, "_dead_letter/public/j").num_rows > 0


@pytest.mark.parametrize(
    "failpoint", [*FAILPOINTS, *(pytest.param(p, marks=pytest.mark.long) for p in WITHIN)]
)
def test_a_small_pipeline_survives(small: Case, failpoint: str) -> None:
    small.check(failpoint)
