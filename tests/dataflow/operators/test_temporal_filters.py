"""Rows come and go when the epoch's time reaches their bounds, in epochs without input, too."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.limits import Limits
from floodmark.session.audit import ReplayOutcome
from tests.warehouses import Site, contents

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MICROSECOND = timedelta(microseconds=1)
DEFINED = """
CREATE TABLE t (k INT PRIMARY KEY, ts TIMESTAMPTZ);
CREATE MATERIALIZED VIEW during AS
SELECT k, ts FROM t WHERE ts <= now() AND now() < ts + INTERVAL '10 minutes';
CREATE TABLE gone (k INT PRIMARY KEY, ts TIMESTAMPTZ);
CREATE SINK into_gone INTO gone AS SELECT k, ts FROM t WHERE now() >= ts + INTERVAL '10 minutes';
"""


def _at(minutes: float) -> datetime:
    return START + minutes * MINUTE


def _insert(fm: Floodmark, *rows: tuple[int, float]) -> None:
    values = ", ".join(f"({k}, '{_at(minutes).isoformat()}')" for k, minutes in rows)
    fm.execute(f"INSERT INTO t VALUES {values}")


def _keys(fm: Floodmark, name: str) -> list[int]:
    return [k for (k,) in fm.execute(f"SELECT k FROM {name} ORDER BY k").rows]


def _go_to(fm: Floodmark, minutes: float) -> int:
    """Let the clock stand at a time and return how many epochs that gives."""
    fm.clock.set(_at(minutes))  # type: ignore[attr-defined]
    epochs = fm.advance()
    assert not fm.loop.has_new()
    return len(epochs)


def test_epochs_open_when_a_bound_is_reached(site: Site) -> None:
    site.define(DEFINED)
    with site.connect() as fm:
        fm.clock.set(START)  # type: ignore[attr-defined]
        _insert(fm, (1, 0), (2, 5), (3, -20))
        assert _keys(fm, "during") == [1] and _keys(fm, "gone") == [3]
        due_at = {k: record.due for k, record in fm.warehouse.cut().records.items()}
        assert due_at == {"t": None, "during": _at(5), "gone": _at(10)}
        assert [_go_to(fm, m) for m in (4.9, 5, 5, 9.99)] == [0, 1, 0, 0]
        assert _keys(fm, "during") == [1, 2]
        assert _go_to(fm, 10) == 1
        assert _keys(fm, "during") == [2] and _keys(fm, "gone") == [1, 3]
        fm.execute("DELETE FROM t WHERE k = 2")
        assert _keys(fm, "during") == []
        _insert(fm, (4, 11))
        assert _go_to(fm, 400_000) == 1
        assert _keys(fm, "during") == [] and _keys(fm, "gone") == [1, 3, 4]
        assert {record.due for record in fm.warehouse.cut().records.values()} == {None}
        assert contents(site.root / "warehouse", "_state/public/during/r1_due").num_rows == 0
        replayed = [r for epoch in range(1, 8) for r in fm.replay(epoch=epoch)]
        assert {r.result for r in replayed} <= {ReplayOutcome.SAME, ReplayOutcome.IMPOSSIBLE}


def test_after_a_long_stop_time_goes_in_portions(site: Site) -> None:
    site.define("SET max_due_rows = 2;",
                "CREATE TABLE t (k INT PRIMARY KEY, ts TIMESTAMPTZ);",
                "CREATE MATERIALIZED VIEW v AS SELECT k FROM t WHERE now() < ts;")  # fmt: skip
    with site.connect() as fm:
        fm.clock.set(START)  # type: ignore[attr-defined]
        _insert(fm, *((k, k) for k in range(1, 7)))
        fm.clock.set(_at(500_000))  # type: ignore[attr-defined]
        epochs = fm.advance()
        times = [_at(3) - MICROSECOND, _at(5) - MICROSECOND, _at(500_000)]
        assert [epoch.now for epoch in epochs] == times
        assert [epoch.objects["v"].rows_out for epoch in epochs] == [2, 2, 2]
        assert _keys(fm, "v") == []


class Crash(BaseException):
    """Stands for a power cut: nothing catches it."""


@pytest.mark.parametrize("point", ["first_table_committed", "view_committed"])
def test_an_interrupted_epoch_makes_what_is_due_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def reach(name: str) -> None:
        if name == point:
            raise Crash

    site.define(DEFINED)
    with site.connect() as fm, monkeypatch.context() as patch:
        fm.clock.set(START)  # type: ignore[attr-defined]
        _insert(fm, (1, 0), (2, 5), (3, 7))
        patch.setattr(failpoints, "reach", reach)
        with pytest.raises(Crash):
            _go_to(fm, 6)
    with site.connect() as fm:
        fm.advance()
        assert _keys(fm, "during") == [1, 2]
        assert _go_to(fm, 8) == 1
        assert _keys(fm, "during") == [1, 2, 3]


def test_random_periods_and_clocks(site: Site) -> None:
    drawn = random.Random(7)
    rows: dict[int, float] = {}
    now = 0.0
    site.define(DEFINED)
    with site.connect(limits=Limits(state_file_rows=2)) as fm:
        fm.clock.set(START)  # type: ignore[attr-defined]
        for step in range(9):
            changed: dict[int, float] = {}
            for _ in range(drawn.randrange(1, 5) if step % 3 else 0):
                changed[drawn.randrange(8)] = now + drawn.choice([-10, -5, 0, 0.5, 3, 6, 12])
            if changed:
                _insert(fm, *changed.items())
                rows |= changed
            if rows and step % 4 == 3:
                gone = drawn.choice(sorted(rows))
                fm.execute(f"DELETE FROM t WHERE k = {gone}")
                del rows[gone]
            now += drawn.choice([0.5, 3, 7])
            _go_to(fm, now)
            if step == 5:
                fm.maintain()
            assert _keys(fm, "during") == sorted(k for k, m in rows.items() if m <= now < m + 10)
            assert _keys(fm, "gone") == sorted(k for k, m in rows.items() if m + 10 <= now)
