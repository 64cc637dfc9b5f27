"""A query ends when its time is over or nobody waits for it, and the server with it if need be."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

import floodmark
from floodmark.errors import DataError
from floodmark.spark import deadline, server, session
from floodmark.spark.clients import clients, executions
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

CLIENT = f"""
import sys
from floodmark.spark.confs import SparkConfig
from floodmark.spark.session import open_sessions
with open_sessions(eval(sys.argv[1])) as opened:
    print("attached", flush=True)
    with opened.guarded("7-v"):
        opened.main.sql({DEAF!r}).collect()
"""


@pytest.fixture(scope="module")
def own_config(spark_config: SparkConfig) -> Iterator[SparkConfig]:
    """Yield a configuration whose server these tests may kill."""
    config = dataclasses.replace(
        spark_config, heap_mb=1024, extra=(("spark.app.name", "floodmark-test-stuck"),)
    )
    server.stop(config)
    yield config
    server.stop(config)


def test_a_query_ends_when_its_time_is_over(sessions: Sessions) -> None:
    began = time.monotonic()
    with pytest.raises(DataError) as over, sessions.guarded("3-v, w", 1.0):
        sessions.main.range(10**13).selectExpr("sum(id % 7)").collect()
    assert over.value.code == "E0538" and "3-v, w" in over.value.message
    assert time.monotonic() - began < 15
    with sessions.guarded("4-v", 60.0):
        assert sessions.main.range(3).count() == 3


def test_what_runs_is_told(sessions: Sessions, spark_config: SparkConfig) -> None:
    with sessions.guarded("5-v"):
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
        with pytest.raises(DataError) as over, opened.guarded("3-v", 2.0):
            opened.main.sql(DEAF).collect()
        assert over.value.code == "E0538"
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
    monkeypatch.setattr(session, "ANSWER_SECONDS", 12.0)
    monkeypatch.setattr(server, "STOP_SECONDS", 1.0)
    with open_sessions(own_config) as opened:
        assert opened.main.range(3).count() == 3
        assert server.status(own_config).pid != before.pid


@pytest.mark.long
def test_a_start_may_take_longer_than_an_answer(
    own_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_sessions(own_config):
        before = server.status(own_config)
    monkeypatch.setattr(session, "ANSWER_SECONDS", 8.0)
    monkeypatch.setattr(server, "STOP_SECONDS", 1.0)
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
    monkeypatch.setattr(server, "STOP_SECONDS", 1.0)
    monkeypatch.setattr(server, "ARCHIVING_STOP_SECONDS", 1.0)
    assert server.stop(own_config)
    assert not server.status(own_config).running


@pytest.mark.long
def test_the_query_of_a_killed_client_takes_its_server_with_it(own_config: SparkConfig) -> None:
    with open_sessions(own_config) as opened:
        root = str(Path(floodmark.__file__).parent.parent)
        command = [sys.executable, "-c", CLIENT, repr_of(own_config)]
        client = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root}
        )
        assert client.stdout is not None and client.stdout.readline() == "attached\n"
        home, record = server.server_home(own_config), server.server_home(own_config).read()
        assert record is not None
        watch = Watch(home, record, orphaned=25.0)
        while not executions(record.pid):
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


def repr_of(config: SparkConfig) -> str:
    """Return a text that makes a configuration in another process."""
    values = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    return f"SparkConfig(**{values!r})"
