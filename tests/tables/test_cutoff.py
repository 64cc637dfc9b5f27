"""Up to where rows of a table are over: by time, by the epoch of their last write, never back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from floodmark.epochs.maintenance.reclaiming import ExpiryBound, ending
from floodmark.plan.declaration import Ttl, TtlMode
from floodmark.scalar.types import TIMESTAMP
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.storage.table import DataFile
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.cutoff import Cutoff, cutoff_of
from tests.program_reference import compile_sql

START = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _table(options: str) -> AnalysedObject:
    return compile_sql(f"CREATE TABLE t (k INT, ts TIMESTAMP) APPEND ONLY WITH ({options})")["t"]


def _at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.data())
def test_the_last_epoch_is_found_from_any_earlier_cutoff(
    steps: list[int], data: st.DataObject
) -> None:
    """Epochs are so many seconds apart; what was over before is where the search begins."""
    times = {epoch: _at(sum(steps[:epoch])) for epoch in range(1, len(steps) + 1)}
    asked = list[int]()

    def time_of(epoch: int) -> datetime:
        asked.append(epoch)
        return times[epoch]

    found, now = _table("ttl = '100 seconds'"), times[len(steps)] + timedelta(seconds=7)
    wanted = max((e for e, t in times.items() if t <= now - timedelta(seconds=100)), default=0)
    known = data.draw(st.none() | st.integers(0, wanted))
    before = ObjectRecord("t", {}, cutoff=None if known is None else START, cutoff_epoch=known or 0)
    cutoff = cutoff_of(found, now, before, len(steps) + 1, time_of)
    assert cutoff is not None and (cutoff.epoch, cutoff.column) == (wanted, "__epoch")
    assert set(asked) <= times.keys() and len(asked) < 20
    if known == wanted:
        assert len(asked) <= 2


def test_what_is_discarded_stays_so_though_the_ttl_be_longer_now() -> None:
    before = ObjectRecord("t", {}, cutoff=START)
    for mode, expected in (("discard", START), ("delete", START - HOUR)):
        found = _table(f"ttl = '2 hours', ttl_column = ts, ttl_mode = '{mode}'")
        cutoff = cutoff_of(found, START + HOUR, before, 5, None)
        assert cutoff is not None and cutoff.time == expected


def test_files_are_asked_for_what_ends() -> None:
    cutoff = Cutoff(Ttl(HOUR, TtlMode.DELETE, "ts"), START, 0, TIMESTAMP)
    early, late = datetime(2023, 12, 31), datetime(2024, 1, 2)

    def file(low: datetime, high: datetime, nulls: int = 0) -> DataFile:
        return DataFile("f", 1, 10, {"ts": low}, {"ts": high}, {"ts": nulls})

    mixed, old, young = file(early, late), file(early, early), file(late, late)
    assert [cutoff.ends(f) for f in (mixed, old, young)] == [True, True, False]
    assert [cutoff.expires_all(f) for f in (mixed, old, young)] == [False, True, False]
    assert not cutoff.expires_all(file(early, early, nulls=1))
    assert cutoff.ends(DataFile("f", 1, 10)), "without statistics nobody knows"
    assert not cutoff.ends(DataFile("f", 1, 10, nulls={"ts": 10})), "all stay"


def test_maintenance_knows_what_ends_unheard() -> None:
    pipeline = compile_sql("""
CREATE TABLE seen (k INT, ts TIMESTAMP) APPEND ONLY WITH (ttl = '1 hour', ttl_column = ts);
CREATE TABLE kept (k INT PRIMARY KEY) WITH (ttl = '1 hour');
CREATE TABLE fading (k INT PRIMARY KEY, u INT, WATERMARK FOR u AS u - 5 WITH TTL);
""")
    records = {
        "seen": ObjectRecord("seen", {}, cutoff=START),
        "kept": ObjectRecord("kept", {}, cutoff=START, cutoff_epoch=4),
        "fading": ObjectRecord("fading", {}, watermarks={"u": 7}),
        "gone": ObjectRecord("gone", {}),
    }
    ends = ending(pipeline, records)
    assert {
        name.removeprefix("_rows/public/"): (e.column, e.value) for name, e in ends.items()
    } == {
        "seen": ("ts", START.replace(tzinfo=None)),
        "fading": ("u", 7),
    }
    (fading,) = (e for e in ends.values() if e.below)
    assert [fading.is_over(v) for v in (6, 7)] == [True, False]
    assert [ExpiryBound("u", 7).is_over(v) for v in (7, 8)] == [True, False]
