"""A server has ended when it is gone, and when only its starter has not asked for it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from floodmark.spark import server
from floodmark.spark.record import ServerHome, ServerRecord, ends_within

STARTER = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", sys.argv[1]]).pid, flush=True)
sys.stdin.read()
"""
SLEEPS = "import time; time.sleep(60)"
ONE_THREAD_STAYS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[psutil.Process]:
    """Yield a process whose starter lives, and never asks for it."""
    command = [sys.executable, "-c", STARTER, request.param]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        process = psutil.Process(int(starter.stdout.readline()))
        yield process
        process.kill()
        starter.kill()


@pytest.mark.parametrize("started", [SLEEPS], ids=["plain"], indirect=True)
@pytest.mark.parametrize("asked", [True, False])
def test_a_server_whose_starter_lives_is_ended(
    started: psutil.Process, asked: bool, tmp_path: Path
) -> None:
    home = ServerHome(tmp_path)
    home.write(ServerRecord(started.pid, started.create_time(), 1, "nonce"))
    assert server.stop_home(home) if asked else server.replace_server(home, "nonce")
    assert home.read() is None


@pytest.mark.skipif(sys.platform != "linux", reason="threads of a zombie are told by Linux")
@pytest.mark.parametrize("started", [ONE_THREAD_STAYS], ids=["one"], indirect=True)
def test_who_has_threads_has_not_ended(started: psutil.Process) -> None:
    deadline = time.monotonic() + 60
    while started.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not ends_within(started, 0.1)
    started.kill()
    assert ends_within(started, 30)
