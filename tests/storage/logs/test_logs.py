"""Epoch log and catalog log: written once, found at once, whole after a crash."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from floodmark.errors import DataError, TransientError
from floodmark.limits import LIMITS
from floodmark.storage.logs.catalog import AppliedStatement, CatalogLog
from floodmark.storage.logs.epochs import BUCKET, EpochLog, LogHead, ObjectRecord
from floodmark.storage.logs.retention import KeptEpochs, Retention

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def split(partition: int, start: int, end: int) -> dict:
    return {"partition": partition, "start": start, "end": end, "payload": {"file": "a.csv"}}


def seal(log: EpochLog, epoch: int, version: int = 1) -> None:
    log.seal(epoch, [ObjectRecord("public.v", {"public/v": version})], NOW)


def test_open_seal_and_read_again(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    assert log.head() == LogHead(0, None)
    opened = log.open(1, NOW, 3, NOW, splits={"s": [split(0, 0, 5), split(2, 0, 7)]}, notes=["x"])
    assert log.head().open == EpochLog(tmp_path).open_record(1)
    assert (opened.now, opened.catalog_version) == (NOW, 3)
    marks = {"a": datetime(2024, 1, 1, 0, 0, 0, 1), "b": 7, "c": Decimal("1.5"), "d": None}
    record = ObjectRecord("public.v", {"public/v": 4, "_changes/public/v": 9}, 5, 4, 1, 0, marks)
    sealed = log.seal(1, [record], NOW)
    assert EpochLog(tmp_path).head() == LogHead(1, None)
    assert EpochLog(tmp_path).seal_record(1) == sealed
    assert sealed.objects == {"public.v": record}


def test_positions_are_carried_on(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW, splits={"s": [split(0, 0, 5), split(2, 0, 7)]})
    seal(log, 1)
    log.open(2, NOW, 1, NOW, splits={"t": [split(0, 0, 1)], "s": [split(0, 5, 9)]})
    seal(log, 2)
    log.open(3, NOW, 1, NOW)
    assert EpochLog(tmp_path).positions() == {"s": {0: 9, 2: 7}, "t": {0: 1}}


def test_each_record_is_written_once(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW)
    with pytest.raises(TransientError, match="E0506"):
        log.open(1, NOW, 2, NOW)
    with pytest.raises(TransientError, match="E0506"):
        log.open(2, NOW, 1, NOW)
    seal(log, 1)
    with pytest.raises(TransientError, match="E0506"):
        seal(log, 1, version=2)
    assert log.seal_record(1).objects["public.v"].versions == {"public/v": 1}
    with pytest.raises(DataError, match="E0410"):
        log.seal_record(2)


def test_left_overs_of_a_crash_do_not_count(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW)
    bucket = tmp_path / "_floodmark" / "epochs" / "0"
    (bucket / ".1.seal.json.abc").write_text('{"epo')
    (bucket / ".2.open.json.abc").write_text("")
    (tmp_path / "_floodmark" / "epochs" / "1").mkdir()
    assert EpochLog(tmp_path).head().sealed == 0 and EpochLog(tmp_path).head().open is not None
    seal(log, 1)
    (bucket / "1.seal.json").write_text('{"epo')
    with pytest.raises(DataError, match="E0409"):
        log.seal_record(1)


@pytest.mark.parametrize("count", [1, LIMITS.followed_epochs, LIMITS.followed_epochs + 1])
@pytest.mark.parametrize("is_open", [False, True])
def test_the_end_is_found_where_others_write_on(tmp_path: Path, count: int, is_open: bool) -> None:
    log, other = EpochLog(tmp_path), EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW)
    seal(log, 1)
    assert log.head() == LogHead(1, None)
    for epoch in range(2, 2 + count):
        other.open(epoch, NOW, 1, NOW)
        seal(other, epoch)
    if is_open:
        other.open(2 + count, NOW, 1, NOW)
    head = log.head()
    assert head == EpochLog(tmp_path).head()
    assert (head.sealed, head.open is not None) == (1 + count, is_open)


def test_the_end_is_found_where_the_log_is_shorter_than_before(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    for epoch in (1, 2):
        log.open(epoch, NOW, 1, NOW)
        seal(log, epoch)
    assert log.head() == LogHead(2, None)
    for path in (tmp_path / "_floodmark/epochs/0").glob("2.*"):
        path.unlink()
    assert log.head() == LogHead(1, None)


def test_a_record_that_is_changed_is_read_again(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW)
    seal(log, 1)
    assert log.seal_record(1) is log.seal_record(1)
    path = tmp_path / "_floodmark/epochs/0/1.seal.json"
    path.write_bytes(path.read_bytes().replace(b"public.v", b"public.w"))
    with pytest.raises(DataError, match="E0409"):
        log.seal_record(1)


def test_suspensions_last_until_resumed(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW)
    event = log.record("suspend", NOW, "division by zero", object="public.v", code="E0601")
    log.record("warning", NOW, "the clock went back")
    assert log.suspensions() == {"public.v": event}
    seal(log, 1)
    assert EpochLog(tmp_path).suspensions() == {"public.v": event} == log.seal_record(1).suspended
    log.open(2, NOW, 1, NOW)
    seal(log, 2)
    log.record("resume", NOW + timedelta(days=1), object="public.v")
    assert log.suspensions() == {}
    assert [e.kind for e in log.events(1)] == ["suspend", "warning"]


def test_an_epoch_asks_a_table_at_the_first_version_that_it_is_given(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW)
    assert log.pin(1, "d", None) is None
    assert log.pin(1, "d", 3) == 3 == EpochLog(tmp_path).pin(1, "d", 4) == log.pin(1, "d", None)
    assert log.pin(1, "e", 5) == 5
    seal(log, 1)
    log.open(2, NOW, 1, NOW)
    assert log.pin(2, "d", 4) == 4


def test_what_is_kept_never_goes_back(tmp_path: Path) -> None:
    kept = Retention(tmp_path)
    assert kept.kept_epochs() == KeptEpochs(1, None)
    kept.keep_from(7, NOW)
    assert kept.keep_from(3, NOW + timedelta(days=1)) == Retention(tmp_path).kept_epochs()
    assert kept.kept_epochs() == KeptEpochs(7, NOW + timedelta(days=1))


def test_catalog_versions(tmp_path: Path) -> None:
    log = CatalogLog(tmp_path)
    assert log.latest() is None
    statement = AppliedStatement("CREATE TABLE t (k INT)", "a.sql", "file", "public.t")
    first = log.append(1, [statement], NOW)
    second = log.append(4, [], NOW)
    assert CatalogLog(tmp_path).versions() == [first, second] and log.latest() == second
    assert first.statements == (statement,)
    with pytest.raises(DataError, match="E0411"):
        log.get(3)


def test_what_was_discovered_is_kept_at_the_end_of_a_bucket(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    assert log.last_discovery() == (0, {})
    for epoch in (BUCKET - 1, 2 * BUCKET - 1):
        (tmp_path / "_floodmark" / "epochs" / str(epoch // BUCKET)).mkdir(parents=True)
        log.record_discovered(epoch, {"s": {"files": [str(epoch)], "unfinished": []}})
        log.record_discovered(epoch, {"s": {"files": [str(epoch)], "unfinished": []}})
        assert log.last_discovery() == (epoch, {"s": {"files": [str(epoch)], "unfinished": []}})
    assert len(list(tmp_path.rglob("discovered.json"))) == 1
