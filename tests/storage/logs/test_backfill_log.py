"""The log of a backfill: a step is what was logged first, and stands where its work is done."""

from __future__ import annotations

from pathlib import Path

from floodmark.storage.logs.backfills import BackfillLog, BackfillState, BackfillStep, forget
from floodmark.storage.logs.epochs import ObjectRecord


def test_steps_follow_each_other(tmp_path: Path) -> None:
    log = BackfillLog(tmp_path, 'we"ird', 3)
    assert log.standing() == BackfillState()
    log.begin(0, BackfillStep(3))
    log.begin(0, BackfillStep(9))
    assert log.standing() == BackfillState(1, BackfillStep(3))
    first = ObjectRecord('we"ird', {"public/v": 0}, position=3)
    log.finish(0, first)
    log.finish(0, ObjectRecord('we"ird', {"public/v": 8}, position=9))
    assert log.standing() == BackfillState(1, None, first)
    log.begin(1, BackfillStep(7, 4))
    assert log.standing() == BackfillState(2, BackfillStep(7, 4), first)
    second = ObjectRecord('we"ird', {"public/v": 1}, position=7)
    log.finish(1, second)
    log.make_ready()
    again = BackfillLog(tmp_path, 'we"ird', 3)
    assert again.standing() == BackfillState(2, None, second, ready=True)


def test_one_works_on_a_backfill_at_a_time(tmp_path: Path) -> None:
    with BackfillLog(tmp_path, "v", 1).claim() as first:
        assert first
        with BackfillLog(tmp_path, "v", 1).claim() as second:
            assert not second
        with BackfillLog(tmp_path, "w", 1).claim() as other:
            assert other
    with BackfillLog(tmp_path, "v", 1).claim() as later:
        assert later


def test_logs_of_what_is_over_go(tmp_path: Path) -> None:
    for key, created in (("v", 1), ("v", 4), ("w", 2)):
        BackfillLog(tmp_path, key, created).begin(0, BackfillStep(created))
    forget(tmp_path, [("v", 4)])
    left = [BackfillLog(tmp_path, k, e).standing().steps for k, e in (("v", 1), ("v", 4), ("w", 2))]
    assert left == [0, 1, 0]
