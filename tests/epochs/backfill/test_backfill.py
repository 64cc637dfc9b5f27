"""A large new view is filled beside the epochs, and joins them where it has caught up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.cli.status import state
from floodmark.epochs.backfill.choice import VARIABLE
from floodmark.epochs.backfill.step import Backfill
from floodmark.errors import DataError
from floodmark.limits import Limits
from floodmark.storage.logs.backfills import BackfillState, BackfillStep
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.tools.equivalence import differences
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    PROJECTED,
    READINGS,
    REGROUPED,
    WINDOWED,
    Site,
    put,
    readings,
    rows_at_rest,
    tables,
)

pytestmark = pytest.mark.spark
VIEWS = (GROUPED, JOINED, PROJECTED, WINDOWED, REGROUPED)


@dataclass
class Gate:
    """Holds the first step of every backfill until it is opened; remembers all steps."""

    open: threading.Event = field(default_factory=threading.Event)
    at: threading.Event = field(default_factory=threading.Event)
    breaks: threading.Event = field(default_factory=threading.Event)
    steps: list[tuple[str, BackfillStep]] = field(default_factory=list)

    def reach(self, name: str) -> None:
        if name == "backfill_step_done" and self.breaks.is_set():
            raise DataError("E0420", "somebody else wrote into st", hint="mend it")
        if name == "backfill_step_done":
            self.at.set()
            assert self.open.wait(120)


_LIMITS = Limits(backfill_threads=4)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Backfill every view that reads anything, no faster than the test wants."""
    gate = Gate()
    run = Backfill.run

    def noted(self: Backfill, step: BackfillStep, standing: BackfillState) -> ObjectRecord:
        gate.steps.append((self.key, step))
        return run(self, step, standing)

    monkeypatch.setenv(VARIABLE, "0")
    monkeypatch.setattr(failpoints, "reach", gate.reach)
    monkeypatch.setattr(Backfill, "run", noted)
    yield gate
    gate.open.set()


def _begun(site: Site, name: str = "warehouse", *views: str) -> None:
    """Take in something before there are views, or after the given ones."""
    site.define(READINGS, NAMES, *views)
    with site.connect(name, limits=_LIMITS) as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('b', 'Beta')")
        fm.advance(now=NOW)


def _states(fm: Floodmark) -> dict[str, str]:
    return {key: state(fm, key, record) for key, record in fm.status().items()}


def _sums(fm: Floodmark) -> list[tuple[int]]:
    return [fm.execute(f"SELECT sum(n)::BIGINT FROM {name}").rows[0] for name in ("t", "fed")]


def _assert_same_rows(found: Path, expected: Path) -> None:
    names = [t for t in tables(expected) if t.startswith("public/")]
    assert [t for t in tables(found) if t.startswith("public/")] == names
    for name in names:
        assert rows_at_rest(found, name) == rows_at_rest(expected, name), name


def test_epochs_go_on_while_views_are_filled(site: Site, gate: Gate) -> None:
    put(site.landing, "0", readings(0, 30))
    _begun(site)
    site.define(READINGS, NAMES, *VIEWS)
    with site.connect(limits=_LIMITS) as fm:
        assert _states(fm) == {
            "s": "active", "d": "active", **dict.fromkeys(
                ("st", "j", "p", "h", "st2"), "backfilling, not begun"
            ),
        }  # fmt: skip
        assert fm.execute("SELECT * FROM st").notices == (
            "st is empty until a run has filled it: backfilling, not begun",
        )
        created = fm.warehouse.log.head().sealed
        put(site.landing, "1", readings(30, 30))
        for number, summary in enumerate(fm.epochs(now=NOW), 2):
            assert gate.at.wait(60)
            if number < 5:
                assert {r.object for r in summary.changes} <= {"s", "d"}
                put(site.landing, str(number), readings(30 * number, 30))
            else:
                gate.open.set()
            if number == 3:
                fm.execute("UPDATE d SET name = 'Beta!' WHERE k = 'b'")
                fm.execute("INSERT INTO d VALUES ('c', 'Gamma')")
                fm.execute("DELETE FROM d WHERE k = 'a'")
        head = fm.warehouse.log.head().sealed
        assert set(_states(fm).values()) == {"active"}
        assert {r.position for r in fm.status().values()} == {head}
        assert not fm.has_new()
    steps = [step for key, step in gate.steps if key == "st"]
    assert steps[0] == BackfillStep(created) and steps[1].first == created + 1
    assert steps[1].epoch >= created + 5
    assert {s.epoch - (s.first or 0) for key, s in gate.steps if key == "h" and s.first} == {0}
    put(site.landing, "6", readings(180, 30))
    with site.connect(limits=_LIMITS) as fm:
        fm.advance(now=NOW)
    with site.connect("other", limits=_LIMITS) as fm:
        fm.execute("INSERT INTO d VALUES ('c', 'Gamma'), ('b', 'Beta!')")
        fm.advance(now=NOW)
    _assert_same_rows(site.root / "warehouse", site.root / "other")


def test_a_definition_ends_a_backfill(site: Site, gate: Gate) -> None:
    put(site.landing, "0", readings(0, 30))
    _begun(site)
    with site.connect(limits=_LIMITS) as fm:
        fm.execute(GROUPED.strip().rstrip(";"))
        fm.execute("CREATE MATERIALIZED VIEW gone AS SELECT id, v FROM s WHERE v > 3")
        fm.execute("CREATE MATERIALIZED VIEW fed AS SELECT k, count(*) AS n FROM s GROUP BY k")
        put(site.landing, "1", readings(30, 30))
        for number, _ in enumerate(fm.epochs(now=NOW)):
            assert gate.at.wait(60)
            if number == 0:
                fm.maintain()
                fm.execute("DROP MATERIALIZED VIEW gone")
                fm.execute("DROP MATERIALIZED VIEW st")
                fm.execute(
                    "CREATE MATERIALIZED VIEW st AS SELECT k, sum(v) AS sv FROM s GROUP BY k"
                )
                fm.execute("CREATE TABLE t (k VARCHAR PRIMARY KEY, n BIGINT)")
                # What feeds a table is filled with it, in the epoch.
                fm.execute("CREATE SINK kk INTO t AS SELECT k, n FROM fed")
                assert state(fm, "fed", fm.status()["fed"]) == "active"
                assert _sums(fm) == [(52,), (52,)]
                gate.open.set()
        assert set(_states(fm).values()) == {"active"} and "gone" not in fm.status()
        assert [differences(fm, key) for key in ("st", "fed")] == [0, 0]
        assert _sums(fm) == [(52,), (52,)]
    assert sorted(key for key, _ in gate.steps) == ["fed", "gone", "st", "st"]
    root = site.root / "warehouse"
    assert not [t for t in tables(root) if t.endswith("gone")]
    assert not [f for f in (root / "_floodmark" / "backfills").iterdir() if f.is_dir()]


def test_maintenance_leaves_what_a_backfill_writes(site: Site, gate: Gate) -> None:
    put(site.landing, "0", readings(0, 30))
    _begun(site)
    with site.connect(limits=_LIMITS) as fm:
        fm.execute(GROUPED.strip().rstrip(";"))
        # The first rows of a table are on the disk before its log is.
        rows = site.root / "warehouse" / "_changes" / "public" / "st" / "6-1" / "rows.parquet"
        rows.parent.mkdir(parents=True)
        rows.touch()
        fm.maintain()
        assert rows.exists()


def test_a_backfill_that_fails_is_resumed(site: Site, gate: Gate) -> None:
    put(site.landing, "0", readings(0, 30))
    _begun(site)
    gate.open.set()
    with site.connect(limits=_LIMITS) as fm:
        fm.execute(GROUPED.strip().rstrip(";"))
        gate.breaks.set()
        fm.advance(now=NOW)
        event = fm.warehouse.log.suspensions()["st"]
        assert event.code == "E0420"
        assert _states(fm)["st"] == "suspended (E0420)"
        put(site.landing, "1", readings(30, 30))
        fm.advance(now=NOW)
        assert not fm.has_new()
        gate.breaks.clear()
        fm.execute("ALTER MATERIALIZED VIEW st RESUME")
        assert _states(fm)["st"].startswith("backfilling, at the rows of epoch")
        fm.advance(now=NOW)
        assert _states(fm)["st"] == "active" and differences(fm, "st") == 0
        joined = fm.warehouse.log.head().sealed
        done = {r.object: r for r in fm.replay(joined, objects=["st"])}
        assert "came from its backfill" in done["st"].cause
