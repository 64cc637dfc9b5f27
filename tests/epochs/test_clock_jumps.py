"""A clock that jumps opens no epoch without a word of the user; a pause is no jump. No Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from floodmark.api import Floodmark, connect
from floodmark.errors import UserError
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.records.text import read_record
from floodmark.storage.records.upgrades import FORMAT
from floodmark.tables import clock
from floodmark.testing import FixedClock

TABLE = "CREATE TABLE t{} (a INT PRIMARY KEY)"


class Machine(FixedClock):
    """A clock that says to be the machine's."""

    is_machines = True


def after(tmp_path: Path, passed: timedelta) -> tuple[Floodmark, Machine]:
    """Connect to a warehouse with one epoch, when the clock has gone on since."""
    machine = Machine(datetime.now(UTC))
    fm = connect(tmp_path / "warehouse", clock=machine)
    fm.execute(TABLE.format(0))
    machine.set(machine.now() + passed)
    return fm, machine


def created(fm: Floodmark) -> bool:
    """Tell whether an epoch can be opened."""
    name = len(fm.deployed.catalog.objects)
    try:
        fm.execute(TABLE.format(name))
    except UserError as error:
        assert error.code == "E0880" and error.hint is not None
        with pytest.raises(UserError, match="E0880"):
            fm.advance()
        return False
    return True


@pytest.mark.parametrize("days", [2, 30, 2_000_000])
def test_a_clock_that_nothing_confirms_is_refused(tmp_path: Path, days: int) -> None:
    fm, machine = after(tmp_path, timedelta(days=days))
    with fm:
        sealed = fm.warehouse.log.head()
        assert not created(fm)
        assert fm.warehouse.log.head() == sealed and fm.deployed.catalog.objects.keys() == {"t0"}
        machine.set(datetime.now(UTC))
        assert created(fm)


def test_a_step_below_the_limit_passes(tmp_path: Path) -> None:
    fm, _ = after(tmp_path, timedelta(hours=23))
    with fm:
        assert created(fm)


def counted(monkeypatch: pytest.MonkeyPatch, passed: timedelta, boot: str | None = None) -> None:
    """Let the machine count more time, since this start or another one."""
    at = clock.Witness.take

    def later(now: datetime) -> clock.Witness:
        found = at(now)
        seconds = found.counted + passed.total_seconds()
        return clock.Witness(found.time, boot or found.boot, seconds)

    monkeypatch.setattr(clock.Witness, "take", later)


def test_a_pause_is_no_jump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fm, _ = after(tmp_path, timedelta(days=40))
    with fm:
        counted(monkeypatch, timedelta(days=40))
        assert created(fm)


@pytest.mark.parametrize(("kept", "days"), [(True, 366), (None, 366), (False, 31)])
def test_a_machine_that_was_started_anew_may_have_been_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool | None, days: int
) -> None:
    monkeypatch.setattr(clock, "is_kept", lambda: kept)
    fm, machine = after(tmp_path, timedelta(days=days - 1))
    with fm:
        counted(monkeypatch, timedelta(), boot="another")
        assert created(fm)
        machine.set(machine.now() + timedelta(days=days + 2))
        counted(monkeypatch, timedelta(), boot="a third")
        assert not created(fm)
        machine.set(datetime(9999, 1, 1, tzinfo=UTC))
        assert not created(fm)


def test_what_the_system_says_of_its_clock_is_asked_alone() -> None:
    before = datetime.now(UTC)
    assert clock.is_kept() in (True, False, None)
    assert timedelta() <= datetime.now(UTC) - before < timedelta(minutes=1)


def test_a_word_of_the_user_is_enough(tmp_path: Path) -> None:
    for way in ("accept", "set"):
        fm, machine = after(tmp_path / way, timedelta(days=30))
        with fm:
            if way == "accept":
                fm.warehouse.guard.accepts = True
            else:
                fm.execute("SET max_clock_jump = '60 days'")
            assert created(fm)
            # It was for that once: the next jump needs another word.
            machine.set(machine.now() + timedelta(days=100))
            assert not created(fm)


def test_what_is_accepted_stays_so_where_there_was_nothing_new(tmp_path: Path) -> None:
    fm, machine = after(tmp_path, timedelta(days=30))
    with fm:
        fm.warehouse.guard.accepts = True
        assert fm.advance() == []
    with connect(tmp_path / "warehouse", clock=machine) as fm:
        assert created(fm)


def no_spark() -> NoReturn:
    """Suspend what an epoch takes rows into."""
    raise UserError("E0000", "there is no Spark in this test")


def test_a_time_that_a_user_says_makes_nobody_believe_the_clock(tmp_path: Path) -> None:
    today, machine = datetime.now(UTC), Machine(datetime.now(UTC))
    (tmp_path / "in").mkdir()
    with connect(tmp_path / "warehouse", clock=machine) as fm:
        fm.execute(
            f"CREATE SOURCE s (a INT) WITH (connector = 'files', path = '{tmp_path / 'in'}') "
            "FORMAT PLAIN ENCODE JSON"
        )
    with connect(tmp_path / "warehouse", clock=machine, sessions=no_spark) as fm:
        (tmp_path / "in" / "1.json").write_text('{"a": 1}')
        machine.set(datetime(9999, 1, 1, tzinfo=UTC))
        with pytest.raises(UserError, match="E0880"):
            fm.advance()
        (epoch,) = fm.advance(now=today + timedelta(seconds=1))
        assert epoch.now == today + timedelta(seconds=1) and epoch.suspended.keys() == {"s"}
        with pytest.raises(UserError, match="E0880"):
            fm.warehouse.epoch_time()


def test_what_is_known_of_the_clock_may_be_lost(tmp_path: Path) -> None:
    fm, _ = after(tmp_path, timedelta(days=30))
    with fm:
        (tmp_path / "warehouse" / "_floodmark" / "clock.json").unlink()
        assert created(fm)


@pytest.mark.parametrize("text", ["{", "", "[]", '{"time": "x", "boot": "", "counted": 0}'])
def test_what_is_damaged_confirms_no_more_than_the_log(tmp_path: Path, text: str) -> None:
    fm, machine = after(tmp_path, timedelta(days=30))
    with fm:
        known = tmp_path / "warehouse" / "_floodmark" / "clock.json"
        known.write_text(text)
        assert created(fm)
        assert known.read_text() != text
        known.write_text(text)
        machine.set(machine.now() + timedelta(days=10_000))
        assert not created(fm)
        fm.warehouse.guard.accepts = True
        assert created(fm)


def test_a_record_of_the_clock_of_a_former_version_is_read(tmp_path: Path) -> None:
    fm, machine = after(tmp_path, timedelta(days=400))
    with fm:
        known = tmp_path / "warehouse" / "_floodmark" / "clock.json"
        record = read_record(LocalObjects(known.parent), known.name)
        assert record is not None and record.format == FORMAT
        known.write_text(json.dumps(record.body))
        assert not created(fm)
        machine.set(datetime.now(UTC))
        assert created(fm)
