"""Which objects the time alone changes, and how far it goes in one epoch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import floodmark
from floodmark.epochs.timers import due_timers, timer_batch
from floodmark.scalar.functions.intervals import micros_of
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import DataFile
from floodmark.stream.properties.state import DUE_AT
from floodmark.tables.cut import Cut
from floodmark.testing import FixedClock
from floodmark.warehouse.deployed import statements_of
from tests.program_reference import compile_sql

PIPELINE = compile_sql("""
CREATE TABLE t (k INT PRIMARY KEY, ts TIMESTAMP);
CREATE MATERIALIZED VIEW v AS SELECT k, ts FROM t WHERE now() < ts;
CREATE MATERIALIZED VIEW w AS SELECT k FROM v WHERE ts < now();
CREATE TABLE kept (k INT PRIMARY KEY);
CREATE SINK into_kept INTO kept AS SELECT k FROM t WHERE now() < ts
""")
START = datetime(2024, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def _at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def _warehouse(
    dues: Mapping[str, datetime | None],
    suspended: tuple[str, ...] = (),
    files: Mapping[str, list[DataFile]] | None = None,
    backfilling: tuple[str, ...] = (),
) -> Any:
    """Return what asks a warehouse for no more than records and state tables."""
    found = files or {}
    records = {
        key: ObjectRecord(key, dict.fromkeys(found, 1), due=at, backfilling=key in backfilling)
        for key, at in dues.items()
    }
    return SimpleNamespace(
        settings=SimpleNamespace(max_due_rows=10),
        cut=lambda: Cut(1, records),
        deployed=lambda: SimpleNamespace(pipeline=PIPELINE),
        suspensions=lambda: dict.fromkeys(suspended),
        store=SimpleNamespace(
            open=lambda table, version: SimpleNamespace(files=found[table]),
            paths=lambda handle, files: [file.path for file in files],
        ),
    )


def _file(folder: Path, *minutes: int) -> DataFile:
    """Return a file with a change for each of some minutes."""
    moments = [micros_of(_at(minute)) for minute in minutes]
    path = folder / f"{minutes[0]}-{len(minutes)}.parquet"
    pq.write_table(pa.table({DUE_AT: pa.array(moments, pa.int64())}), path)
    return DataFile(str(path), 1, len(minutes), {DUE_AT: moments[0]}, {DUE_AT: moments[-1]})


def test_a_run_at_a_time_is_asked_about_that_time(tmp_path: Path) -> None:
    with floodmark.connect(tmp_path / "warehouse", clock=FixedClock(START)) as fm:
        warehouse = fm.warehouse
        warehouse.catalogs.append(1, statements_of(PIPELINE.catalog), START)
        warehouse.log.open(1, START, 1, START)
        warehouse.log.seal(1, [ObjectRecord("v", {}, due=_at(5))], START)
        assert not fm.has_new()
        assert [fm.has_new(now=_at(m)) for m in (4, 5)] == [False, True]
        assert [fm.has_new(["t"], _at(5)), fm.has_new(["w"], _at(5))] == [False, True]


def test_an_object_is_due_at_its_time_and_not_before() -> None:
    warehouse = _warehouse({"t": None, "v": _at(5), "w": _at(6)})
    assert due_timers(warehouse, _at(5) - MICROSECOND, None) == set()
    assert due_timers(warehouse, _at(5), None) == {"v"}
    assert due_timers(warehouse, _at(9), None) == {"v", "w"}


def test_of_a_selection_only_what_it_needs_is_due() -> None:
    warehouse = _warehouse({"v": _at(5), "w": _at(5), "kept": _at(5)})
    assert due_timers(warehouse, _at(5), {"v"}) == {"v"}
    assert due_timers(warehouse, _at(5), {"w"}) == {"v", "w"}
    assert due_timers(warehouse, _at(5), {"t"}) == set()


def test_what_cannot_advance_opens_no_epoch() -> None:
    dues = {"v": _at(5), "w": _at(5), "kept": _at(5)}
    assert due_timers(_warehouse(dues, suspended=("v",)), _at(9), None) == {"kept"}
    assert due_timers(_warehouse(dues, backfilling=("v",)), _at(9), None) == {"kept"}


def test_time_goes_in_portions(tmp_path: Path) -> None:
    table, other = "_state/public/v/r1_due", "_state/public/into_kept__sink/r1_due"
    parts = [_file(tmp_path, *range(1, 8)), _file(tmp_path, *range(4, 9))]
    files = {table: parts, other: [_file(tmp_path, 2, 3, 3)]}
    warehouse = _warehouse({"v": _at(1), "kept": _at(2)}, files=files)
    # Ten of 1 2 2 3 3 3 4 4 5 5 | 6 6 7 7 8, and of 1 2 3 4 4 5 5 6 6 7 | 7 8.
    assert timer_batch(warehouse, {"v", "kept"}, _at(9)) == _at(6) - MICROSECOND
    assert timer_batch(warehouse, {"v"}, _at(9)) == _at(7) - MICROSECOND
    assert timer_batch(warehouse, {"v"}, _at(6)) is None
    assert timer_batch(warehouse, {"kept"}, _at(9)) is None


def test_of_a_long_backlog_the_first_files_are_read(tmp_path: Path) -> None:
    first = [_file(tmp_path, *range(1, 8)), _file(tmp_path, *range(5, 12))]
    gone = DataFile("not there", 1, 9, {DUE_AT: micros_of(_at(12))}, {DUE_AT: micros_of(_at(20))})
    warehouse = _warehouse({"v": _at(1)}, files={"_state/public/v/r1_due": [gone, *first]})
    # Ten of 1 2 3 4 5 5 6 6 7 7 | 8 9 10 11.
    assert timer_batch(warehouse, {"v"}, _at(30)) == _at(8) - MICROSECOND


def test_changes_of_one_moment_stay_together(tmp_path: Path) -> None:
    files = {"_state/public/v/r1_due": [_file(tmp_path, *[1] * 50), _file(tmp_path, *[4] * 50)]}
    warehouse = _warehouse({"v": _at(1)}, files=files)
    assert timer_batch(warehouse, {"v"}, _at(3)) == _at(1)
    assert timer_batch(warehouse, {"v"}, _at(9)) == _at(1)
