"""`kill -9` at every failpoint of an epoch; the next run ends where an undisturbed one does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    READINGS,
    SUNK,
    Site,
    contents,
    digests,
    put,
    readings,
)

from demo.flights import write_landing
from floodmark.runtime.failpoints import NAMES as FAILPOINTS
from floodmark.spark.session import Sessions

PIPELINES = Path(__file__).parents[2] / "pipelines"
CUT_OFF = '{"origin": "JFK", "observed_at": "2013-01-05T'
pytestmark = pytest.mark.spark


class Case:
    """A warehouse before its second epoch, and what the undisturbed one looks like after it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        site.copy("warehouse", "undisturbed")
        with site.connect("undisturbed") as fm:
            self.epochs = [e.epoch for e in fm.advance(now=NOW)]
        self.expected = digests(site.root / "undisturbed")

    def check(self, failpoint: str) -> None:
        """Kill a run there, run again, compare every table."""
        name = failpoint.replace(":", "_")
        copy = self.site.copy("warehouse", name)
        self.site.kill_at(failpoint, name)
        with self.site.connect(name) as fm:
            fm.advance(now=NOW)
            assert fm.scheduler.log.head().sealed == self.epochs[-1]
            assert not fm.has_new()
        assert digests(copy) == self.expected
        shutil.rmtree(copy)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Case:
    """Return a source with late rows, a join with dead letters, an aggregate, a table fed."""
    site = Site(tmp_path_factory.mktemp("small"), sessions)
    put(site.landing, "1", readings(0, 30))
    site.define(READINGS, NAMES, JOINED, GROUPED, SUNK)
    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('z', 'Zeta')")
        fm.execute("INSERT INTO t (k, n) VALUES ('q', 1)")
        fm.advance(now=NOW)
    put(site.landing, "2", readings(30, 30))
    return Case(site)


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Case:
    """Return the demo's pipeline after four days, with three more to come."""
    site = Site(tmp_path_factory.mktemp("week"), sessions)
    whole = site.root / "month"
    write_landing(whole, 1)
    for name in ("planes", "airlines", "airports"):
        shutil.copytree(whole / name, site.landing / name)
    _deliver(whole, site.landing, range(1, 5))
    site.pipelines.mkdir()
    for path in PIPELINES.glob("*.sql"):
        text = path.read_text().replace("'landing/", f"'{site.landing}/")
        (site.pipelines / path.name).write_text(text)
    with site.connect() as fm:
        fm.advance(now=NOW)
    _deliver(whole, site.landing, range(5, 8))
    with (site.landing / "weather" / "weather-2013-01-05.json").open("a") as weather:
        weather.write(CUT_OFF + "\n")
    return Case(site)


def _deliver(whole: Path, landing: Path, days: range) -> None:
    for stream in ("departures", "arrivals", "weather"):
        (landing / stream).mkdir(exist_ok=True)
        for day in days:
            for path in (whole / stream).glob(f"*-2013-01-{day:02d}.*"):
                shutil.copy2(path, landing / stream)


def test_the_cases_have_late_rows_and_dead_letters(small: Case) -> None:
    root = small.site.root / "undisturbed"
    assert contents(root, "_late/public/s").num_rows > 0
    assert contents(root, "_dead_letter/public/j").num_rows > 0
    assert len(small.epochs) == 1


@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_a_small_pipeline_survives(small: Case, failpoint: str) -> None:
    small.check(failpoint)


@pytest.mark.parametrize("failpoint", ["view_committed:6"])
def test_the_week_survives(week: Case, failpoint: str) -> None:
    week.check(failpoint)


@pytest.mark.long
@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_the_week_survives_every_failpoint(week: Case, failpoint: str) -> None:
    week.check(failpoint)
