"""What reports say of an object, from the log and file lists alone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from floodmark.api import connect
from floodmark.session.inspect.reporting import files_at_version
from floodmark.storage.logs.epochs import ObjectRecord, OpenRecord

NOW = datetime(2024, 1, 2, tzinfo=UTC)


def test_an_empty_table_is_not_a_forgotten_one(tmp_path: Path) -> None:
    with connect(tmp_path) as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY)")
        assert files_at_version(fm.warehouse, "_rows/public/t", 1) == ()
        assert files_at_version(fm.warehouse, "_rows/public/t", 7) is None


def test_the_first_watermark_and_its_lag() -> None:
    marks = {"a": None, "d": date(2024, 1, 1), "t": datetime(2024, 1, 1, 23), "u": NOW}
    record = ObjectRecord("v", {}, watermarks=marks)
    assert record.watermark == date(2024, 1, 1)
    assert record.watermark_time == datetime(2024, 1, 1, 23, tzinfo=UTC)
    assert record.lag(NOW) == timedelta(hours=1)
    assert ObjectRecord("v", {}).lag(NOW) is None


def test_an_epoch_has_one_kind() -> None:
    assert OpenRecord(1, NOW, 1, NOW).kind == "ddl"
    assert OpenRecord(1, NOW, 1, NOW, splits={"s": [{}]}).kind == "data"
    assert OpenRecord(1, NOW, 1, NOW, dml=[{"table": "t"}]).kind == "dml"
