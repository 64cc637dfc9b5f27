"""A job that nobody waits for takes its server with it, and nothing else is taken for one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from floodmark.errors import DataError
from floodmark.spark import clients, server
from floodmark.spark.confs import SparkConfig
from floodmark.spark.record import ServerHome, ServerRecord
from floodmark.spark.session import open_sessions
from floodmark.spark.watchdog import Watch

QUERY = "SparkConnectExecuteThread_opId=8d2a1c3e-5f61-4e0e-9d3b-0123456789ab"
IDLE = "shuffle-exchange-3"


def task(number: int) -> str:
    """Return the name of the thread that works at a task."""
    return f"Executor task launch worker for task 0.0 in stage 5.0 (TID {number})"


LOOKS = [
    ([[task(7), IDLE]] * 5, True),
    ([[IDLE]] * 5, False),
    ([[task(7), QUERY]] * 5, False),
    # A thread keeps the name of its last task until the next.
    ([[task(number)] for number in range(5)], False),
    ([[task(7)], [task(7)], [task(7), QUERY], [task(7)], [task(7)]], False),
    ([[task(7)], [task(7)], [], [task(7)], [task(7)]], False),
]


@pytest.mark.parametrize(("looks", "is_stuck"), LOOKS)
def test_one_task_that_stays_without_a_query_is_left_over(
    looks: list[list[str]], is_stuck: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, now = iter(looks), [time.monotonic()]
    monkeypatch.setattr(clients, "thread_names", lambda pid: tuple(next(answers)))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    record = ServerRecord(pid=1, started=0.0, port=1, nonce="")
    watch = Watch(ServerHome(tmp_path), record, ask_every=20.0, left=70.0)
    found = []
    for _ in looks:
        now[0] += 21
        found.append(watch._has_left_over())
    assert found == [False] * 4 + [is_stuck]


@pytest.mark.spark
@pytest.mark.long
def test_what_is_interrupted_while_it_is_compiled_takes_its_server_with_it(
    own_config: SparkConfig,
) -> None:
    for seconds in (0.3, 0.6, 1.0, 1.5):
        server.stop(own_config)
        # Of a cold server the first query takes a second to be compiled.
        with open_sessions(own_config) as opened:
            with pytest.raises(DataError, match="E0459"), opened.guard("3-v", seconds):
                opened.main.range(10**12).selectExpr("sum(id % 7)").collect()
            home, record = server.server_home(own_config), server.server_home(own_config).read()
            assert record is not None
            time.sleep(20)
            if not clients.orphan_tasks(record.pid):
                continue
            watch, began = Watch(home, record, ask_every=2.0, left=20.0), time.monotonic()
            while not watch.is_stuck():
                assert time.monotonic() - began < 60
                time.sleep(0.5)
            return
    pytest.skip("Spark heard each of the interrupts")
