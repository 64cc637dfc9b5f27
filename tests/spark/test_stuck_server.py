"""A query ends when its time is over or nobody waits for it, and the server with it if need be."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import floodmark
from floodmark.errors import DataError, FloodmarkError
from floodmark.limits import Limits
from floodmark.spark import deadline, server, session
from floodmark.spark.clients import ClientFile, clients, running_marks
from floodmark.spark.confs import SparkConfig
from floodmark.spark.session import Sessions, open_sessions
from floodmark.spark.watchdog import Watch, answers
from floodmark.storage.locks import exclusive

pytestmark = pytest.mark.spark

DEAF = (
    "WITH a0 AS (SELECT id AS x FROM range(10)), "
    + ", ".join(
        f"a{i} AS (SELECT l.x FROM a{i - 1} l JOIN a{i - 1} r ON l.x = r.x)" for i in range(1, 16)
    )
    + " SELECT * FROM a15"
)
"""The optimizer is busy with 2 ** 15 joins, and does not hear of interrupts."""

CLIENT = """
import sys
from floodmark.spark.confs import SparkConfig
from floodmark.spark.session import open_sessions
with open_sessions(eval(sys.argv[1])) as opened:
    print("attached", flush=True)
    with opened.guard("7-v"):
        opened.main.sql(sys.argv[2]).collect()
"""


def test_a_query_ends_when_its_time_is_over(sessions: Sessions) -> None:
    # What is interrupted while a cold server compiles it goes on there as a job of nobody.
    sessions.main.range(10).selectExpr("sum(id % 7)").collect()
    began = time.monotonic()
    with pytest.raises(DataError) as over, sessions.guard("3-v, w", 1.0):
        sessions.main.range(10**11).selectExpr("sum(id % 7)").collect()
    assert over.value.code == "E0459" and "3-v, w" in over.value.message
    assert time.monotonic() - began < 15
    with sessions.guard("4-v", 60.0):
        assert sessions.main.range(3).count() == 3


def test_the_reads_of_others_go_on_when_the_time_of_one_is_over(sessions: Sessions) -> None:
    def spin(what: str, seconds: float) -> str:
        with pytest.raises(FloodmarkError) as over, sessions.guard(what, seconds):
            sessions.ingest.range(10**11).selectExpr("sum(id % 7)").collect()
        return f"{over.value.code} {over.value.message}"

    with ThreadPoolExecutor(2) as pool:
        long, short = pool.submit(spin, "3-v", 5.0), pool.submit(spin, "3-v", 1.0)
        assert "longer than query_timeout, 1 s" in short.result()
        assert not long.done()
        assert long.result().startswith("E0459 ")


def test_what_runs_outside_of_the_guard_is_known_to_be_of_its_client(
    sessions: Sessions, spark_config: SparkConfig
) -> None:
    home, record = server.server_home(spark_config), server.server_home(spark_config).read()
    assert record is not None
    # Other tests of this process may be attached as well.
    mine = {c.mark for c in clients(home.clients).values() if c.pid == os.getpid()}
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(sessions.ingest.range(3 * 10**9).selectExpr("sum(id % 7)").collect)
        while not mine & (running_marks(record.pid) or set()):
            assert not long.done()
        sessions.interrupt_all()
        assert isinstance(long.exception(), PySparkException)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is full")
def test_a_full_cache_disk_ends_no_query(tmp_path: Path) -> None:
    client_file = ClientFile(tmp_path / "clients")
    (shown,) = clients(tmp_path / "clients").values()
    assert shown.pid == os.getpid() and shown.running == {} and len(shown.mark) == 12
    full = os.open("/dev/full", os.O_WRONLY)
    assert client_file._file is not None
    os.dup2(full, client_file._file)
    with pytest.raises(ValueError, match="mine"), client_file.running("3-v"):
        raise ValueError("mine")
    client_file.leave()
    client_file.leave()
    assert clients(tmp_path / "clients") == {}
    (tmp_path / "file").touch()
    with ClientFile(tmp_path / "file" / "clients").running("3-v"):
        pass


def test_what_runs_is_told(sessions: Sessions, spark_config: SparkConfig) -> None:
    with sessions.guard("5-v"):
        (found,) = [c for c in server.status(spark_config).clients if c.pid == os.getpid()]
        assert list(found.running) == ["5-v"] and found.is_alive and found.command
    assert os.getpid() not in [c.pid for c in server.status(spark_config).clients]


@pytest.mark.long
def test_where_spark_does_not_hear_the_server_goes(
    own_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline.Deadline.__init__, "__defaults__", (3.0,))
    with open_sessions(own_config) as opened:
        pid = server.status(own_config).pid
        with pytest.raises(DataError) as over, opened.guard("3-v", 2.0):
            opened.main.sql(DEAF).collect()
        assert over.value.code == "E0459"
        assert not server.status(own_config).running
    with open_sessions(own_config) as opened:
        assert opened.main.range(3).count() == 3
        assert server.status(own_config).pid != pid


@pytest.mark.long
def test_a_server_that_does_not_answer_is_replaced(
    own_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_sessions(own_config):
        before = server.status(own_config)
    assert before.pid is not None and before.url is not None
    port = int(before.url.rpartition(":")[2])
    assert answers(port, 10)
    os.kill(before.pid, signal.SIGSTOP)
    assert not answers(port, 1)
    monkeypatch.setattr(session, "LIMITS", Limits(server_answer_seconds=12))
    monkeypatch.setattr(server, "LIMITS", Limits(server_stop_seconds=1))
    with open_sessions(own_config) as opened:
        assert opened.main.range(3).count() == 3
        assert server.status(own_config).pid != before.pid


@pytest.mark.long
def test_a_start_may_take_longer_than_an_answer(
    own_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_sessions(own_config):
        before = server.status(own_config)
    monkeypatch.setattr(session, "LIMITS", Limits(server_answer_seconds=8))
    monkeypatch.setattr(server, "LIMITS", Limits(server_stop_seconds=1))
    with ThreadPoolExecutor(1) as pool:
        # As if another client started it.
        with exclusive(server.server_home(own_config).start_lock):
            opening = pool.submit(open_sessions, own_config)
            assert wait({opening}, timeout=9.0).not_done
        with opening.result() as opened:
            assert opened.main.range(3).count() == 3
    assert server.status(own_config).pid == before.pid


@pytest.mark.long
def test_a_server_deaf_to_the_signal_is_killed(
    own_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_sessions(own_config):
        pid = server.status(own_config).pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    soon = Limits(server_stop_seconds=1, server_archive_seconds=1)
    monkeypatch.setattr(server, "LIMITS", soon)
    assert server.stop(own_config)
    assert not server.status(own_config).running


@pytest.mark.long
def test_the_query_of_a_killed_client_takes_its_server_with_it(own_config: SparkConfig) -> None:
    with open_sessions(own_config) as opened:
        home, record = server.server_home(own_config), server.server_home(own_config).read()
        assert record is not None
        watch = Watch(home, record, orphaned=25.0)
        client = client_of(own_config, DEAF)
        while not running_marks(record.pid):
            assert client.poll() is None
            assert not watch.is_stuck()
        client.kill()
        client.wait()
        began = time.monotonic()
        while not watch.is_stuck():
            assert time.monotonic() - began < 120
            # What others do is not confused with it.
            assert opened.main.range(3).count() == 3
        assert time.monotonic() - began > 20
        assert [c.running.keys() for c in clients(home.clients).values() if not c.is_alive]


@pytest.mark.long
def test_a_long_query_of_another_client_is_not_that_of_a_killed_one(
    own_config: SparkConfig,
) -> None:
    server.stop(own_config)
    with open_sessions(own_config) as opened, ThreadPoolExecutor(1) as pool:
        home, record = server.server_home(own_config), server.server_home(own_config).read()
        assert record is not None
        # Outside of `guarded`, as what people do with a frame of `Floodmark.sql`.
        rows = opened.main.range(0, 10**13, 1, 1)
        long = pool.submit(rows.selectExpr("sum(id % 7)").collect)
        while not running_marks(record.pid):
            assert not long.done()
        client = client_of(own_config, "SELECT sum(id % 5) FROM range(0, 5000000000, 1, 1)")
        while len(running_marks(record.pid) or ()) < 2:
            assert client.poll() is None
        client.kill()
        client.wait()
        watch, began = Watch(home, record, orphaned=1.0, ask_every=600.0), time.monotonic()
        while len(running_marks(record.pid) or ()) > 1:
            assert time.monotonic() - began < 120
        assert not watch.is_stuck() and not watch.is_stuck()
        assert all(c.is_alive for c in clients(home.clients).values())
        server.stop(own_config)
        assert long.exception(60) is not None


def client_of(config: SparkConfig, query: str) -> subprocess.Popen[str]:
    """Start a process that runs a query, and wait until it is attached."""
    root = str(Path(floodmark.__file__).parent.parent)
    command = [sys.executable, "-c", CLIENT, repr_of(config), query]
    client = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root}
    )
    assert client.stdout is not None and client.stdout.readline() == "attached\n"
    return client


def repr_of(config: SparkConfig) -> str:
    """Return a text that makes a configuration in another process."""
    values = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    return f"SparkConfig(**{values!r})"
