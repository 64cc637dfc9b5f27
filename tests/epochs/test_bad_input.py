"""What a wrong folder or file, a full disk or a dead server does, and what is left after it."""

from __future__ import annotations

import dataclasses
import errno
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import connect
from floodmark.connectors.files.connector import FilesConnector
from floodmark.errors import DataError, TransientError
from floodmark.session.audit.audit import ReplayOutcome
from floodmark.spark.confs import SparkConfig
from floodmark.spark.server import status as server_status, stop as stop_server
from floodmark.storage.delta import store as delta
from floodmark.storage.objects.contract import Objects
from tests.warehouses import GROUPED, NOW, READINGS, Site, contents, put, readings, visible

pytestmark = pytest.mark.spark
LINES = """
CREATE SOURCE lines (a INT NOT NULL, b VARCHAR)
WITH (connector = 'files', path = '{landing}/lines') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW kept AS SELECT a, b FROM lines;
"""


def test_a_missing_folder_does_not_stop_the_other_sources(site: Site) -> None:
    site.define(READINGS, LINES)
    put(site.landing, "0", readings(0, 5))
    with site.connect() as fm:
        with pytest.raises(DataError, match="cannot be listed") as raised:
            fm.advance(now=NOW)
        assert raised.value.code == "E0475" and raised.value.hint
        assert "of source lines" in str(raised.value)
        assert len(visible(site.root / "warehouse", "s")) == 5
        with pytest.raises(DataError, match="cannot be listed"):
            fm.has_new()
        (site.landing / "lines").mkdir()
        assert not fm.has_new()


def test_a_source_is_not_pointed_at_a_missing_folder(site: Site) -> None:
    site.define(LINES)
    (site.landing / "lines").mkdir(parents=True)
    (site.landing / "lines" / "0.json").write_text('{"a": 1, "b": "x"}\n')
    with site.connect() as fm:
        fm.advance(now=NOW)
        site.define(LINES.replace("/lines'", "/linse'"))
        with pytest.raises(DataError, match="cannot be listed"):
            fm.apply(site.pipelines)
        assert visible(site.root / "warehouse", "kept") == [(1, "x")]
        site.define(LINES)
        assert not fm.plan(site.pipelines).changes


def test_an_unparsable_line_is_put_aside_with_its_place(site: Site) -> None:
    site.define(LINES)
    folder = site.landing / "lines"
    folder.mkdir(parents=True)
    (folder / "0.json").write_text('{"a": 1, "b": "x"}\n{"a": 2, "b"\n{"a": 3, "b": "y"}\n')
    with site.connect() as fm:
        (epoch,) = fm.advance(now=NOW)
    root = site.root / "warehouse"
    assert epoch.objects["lines"].dead_rows == 1
    assert visible(root, "kept") == [(1, "x"), (3, "y")]
    (letter,) = contents(root, "_dead_letter/public/lines").to_pylist()
    assert "0.json" in letter["__error"]["place"] and "2" in letter["__error"]["place"]


def test_a_file_that_is_no_parquet_is_put_aside(site: Site) -> None:
    site.define(READINGS.replace("path =", "match_pattern = '*.parquet', path ="))
    put(site.landing, "0", readings(0, 5))
    (site.landing / "1.parquet").write_text("this is no Parquet file")
    (site.landing / "2.csv").write_text("not,asked,for\n")
    put(site.landing, "3", readings(5, 5))
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert not fm.warehouse.log.suspensions()
    (letter,) = contents(site.root / "warehouse", "_dead_letter/public/s").to_pylist()
    assert "1.parquet" in letter["__error"]["place"]
    assert len(visible(site.root / "warehouse", "s")) == 9


def _break_pages(path: Path) -> None:
    """Overwrite the pages of a Parquet file; its footer stays."""
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)


def test_a_file_with_broken_pages_is_put_aside(site: Site) -> None:
    site.define(READINGS)
    put(site.landing, "0", readings(0, 5))
    put(site.landing, "1", readings(5, 50))
    _break_pages(site.landing / "1.parquet")
    put(site.landing, "2", readings(63, 5))
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert not fm.warehouse.log.suspensions()
        (letter,) = contents(site.root / "warehouse", "_dead_letter/public/s").to_pylist()
        assert "1.parquet" in letter["__error"]["place"]
        assert len(visible(site.root / "warehouse", "s")) == 10
        assert {done.result for done in fm.replay()} == {ReplayOutcome.SAME}


def test_a_file_that_went_before_it_was_read_is_put_aside_when_its_source_is_resumed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define(READINGS, GROUPED)
    put(site.landing, "0", readings(0, 5))
    put(site.landing, "1", readings(5, 5))
    with site.connect() as fm:
        read = FilesConnector.read_splits

        def gone(self: FilesConnector, *arguments: Any) -> Any:
            (site.landing / "1.parquet").unlink(missing_ok=True)
            return read(self, *arguments)

        monkeypatch.setattr(FilesConnector, "read_splits", gone)
        fm.advance(now=NOW)
        stopped = fm.warehouse.log.suspensions()["s"]
        assert stopped.code == "E0476" and "1.parquet is gone" in stopped.message
        fm.execute("ALTER SOURCE s RESUME")
        assert not fm.warehouse.log.suspensions()
        (letter,) = contents(site.root / "warehouse", "_dead_letter/public/s").to_pylist()
        assert "is gone" in letter["__error"]["row"]
        put(site.landing, "2", readings(7, 5))
        fm.advance(now=NOW)
        assert len(visible(site.root / "warehouse", "s")) == 10


def test_a_file_of_another_schema_stops_its_source_when_its_turn_comes(site: Site) -> None:
    site.define(READINGS)
    put(site.landing, "0", readings(0, 5))
    other = site.landing / "1.parquet"
    pq.write_table(pa.table({"id": pa.array(["seven"]), "k": pa.array(["a"])}), other)
    put(site.landing, "2", readings(5, 5))
    with site.connect() as fm:
        with pytest.raises(DataError, match="declared bigint") as raised:
            fm.advance(now=NOW)
        assert raised.value.code == "E0478" and "1.parquet" in raised.value.message
        assert len(visible(site.root / "warehouse", "s")) == 5
        other.unlink()
        fm.advance(now=NOW)
    assert len(visible(site.root / "warehouse", "s")) == 9


def _full_once(real: Callable[..., bool]) -> Callable[..., bool]:
    """Return a write that finds the disk full at its first call."""
    calls: Iterator[OSError | None] = iter([OSError(errno.ENOSPC, "No space left on device")])

    def write(objects: Objects, key: str, data: bytes) -> bool:
        error = next(calls, None)
        if error is not None:
            raise error
        return real(objects, key, data)

    return write


def test_a_full_disk_leaves_the_epoch_open_for_the_next_run(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define(READINGS, GROUPED)
    put(site.landing, "0", readings(0, 10))
    with site.connect() as fm:
        sealed = fm.warehouse.log.head().sealed
        monkeypatch.setattr(delta, "create_once", _full_once(delta.create_once))
        with pytest.raises(TransientError, match="disk is full"):
            fm.advance(now=NOW)
        assert fm.warehouse.log.head().sealed == sealed
        assert not fm.warehouse.log.suspensions()
        fm.advance(now=NOW)
        assert fm.warehouse.log.head().sealed == sealed + 1
    assert sum(n for _, n, *_ in visible(site.root / "warehouse", "st")) == 9


@pytest.fixture
def private(spark_config: SparkConfig) -> Iterator[SparkConfig]:
    """Yield the configuration of a server that only this test uses."""
    config = dataclasses.replace(
        spark_config, heap_mb=1024, extra=(("spark.floodmark.test", "private"),), idle_minutes=2.0
    )
    yield config
    stop_server(config)


class Killer:
    """Kills a server when an object has advanced: the first `most` times."""

    def __init__(self, config: SparkConfig, most: int) -> None:
        self.config, self.most, self.kills = config, most, 0

    def __call__(self, epoch: int, record: object) -> None:
        if self.kills == self.most:
            return
        self.kills += 1
        status = server_status(self.config)
        assert status.pid is not None
        server = psutil.Process(status.pid)
        server.send_signal(signal.SIGKILL)
        server.wait(10)


@pytest.mark.usefixtures("spark_alone")
def test_a_server_that_dies_within_an_epoch_is_started_again(
    site: Site, private: SparkConfig
) -> None:
    site.define(READINGS, GROUPED)
    put(site.landing, "0", readings(0, 10))
    restarted, kill = list[int](), Killer(private, 1)
    with connect(site.root / "warehouse", site.pipelines, spark=private) as fm:
        sealed = fm.warehouse.log.head().sealed
        list(fm.epochs(now=NOW, on_progress=kill, on_restart=restarted.append))
        assert restarted == [sealed + 1]
        assert kill.kills == 1
        assert fm.warehouse.log.head().sealed == sealed + 1
    assert len(visible(site.root / "warehouse", "st")) == 5


@pytest.mark.long
@pytest.mark.usefixtures("spark_alone")
def test_an_epoch_in_which_the_server_dies_twice_is_left_to_the_next_run(
    site: Site, private: SparkConfig
) -> None:
    site.define(READINGS, GROUPED)
    put(site.landing, "0", readings(0, 10))
    kill = Killer(private, 2)
    with connect(site.root / "warehouse", site.pipelines, spark=private) as fm:
        sealed = fm.warehouse.log.head().sealed
        with pytest.raises(TransientError) as raised:
            list(fm.epochs(now=NOW, on_progress=kill))
        assert raised.value.code == "E0511" and kill.kills == 2
    with site.connect() as fm:
        assert fm.warehouse.log.head().open is not None
        list(fm.epochs(now=NOW))
        assert fm.warehouse.log.head().sealed == sealed + 1
    assert len(visible(site.root / "warehouse", "st")) == 5
