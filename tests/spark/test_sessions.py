"""Sessions end whole, whatever one of them says to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.errors.exceptions.connect import UnknownException

import floodmark
from floodmark.errors import FloodmarkError, TransientError
from floodmark.limits import LIMITS
from floodmark.spark import server, session
from floodmark.spark.clients import ClientFile
from floodmark.spark.confs import SparkConfig
from floodmark.spark.failures import translate
from floodmark.spark.record import ServerHome, ServerRecord
from floodmark.spark.session import Sessions
from floodmark.storage.locks import SharedLock, exclusive_if_free

# Spark says this where its parts have ended one after the other.
_ASSERTION = UnknownException("(java.lang.AssertionError) assertion failed")


class _Session:
    """What `Sessions` need of a session."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.stopped = self.ended = False

    def range(self, rows: int) -> _Session:
        return self

    def collect(self) -> None:
        if self.ended:
            raise _ASSERTION

    def getTags(self) -> set[str]:
        return set()

    def clearTags(self) -> None:
        pass

    def addTag(self, tag: str) -> None:
        pass

    def removeTag(self, tag: str) -> None:
        pass

    def stop(self) -> None:
        self.stopped = True
        if self.error is not None:
            raise self.error


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[server.Attachment]:
    """Yield a hold on a server that is this process."""
    home, me = ServerHome(tmp_path), psutil.Process()
    home.write(ServerRecord(me.pid, me.create_time(), 1, "nonce"))
    lock = SharedLock(home.client_lock)
    yield server.Attachment(home, "sc://nowhere", "", "nonce", lock, ClientFile(home.clients))
    lock.release()


def is_held(hold: server.Attachment) -> bool:
    """Tell what the watchdog asks: whether anybody is attached."""
    with exclusive_if_free(hold.home.client_lock) as free:
        return not free


def test_a_session_that_does_not_stop_keeps_neither_the_other_nor_the_lock(
    hold: server.Attachment,
) -> None:
    main: Any = _Session()
    ingest: Any = _Session(ConnectionError("the server is gone"))
    sessions = Sessions(main, lambda: ingest, hold)
    assert sessions.ingest is ingest and is_held(hold)
    with pytest.raises(ConnectionError):
        sessions.close()
    assert main.stopped and ingest.stopped and not is_held(hold)


def test_what_a_server_says_as_it_ends_is_its_loss() -> None:
    main: Any = _Session()
    with Sessions(main, lambda: main) as sessions:
        with pytest.raises(FloodmarkError) as met, sessions.guard():
            raise _ASSERTION
        assert met.value.code == "E0602" and not sessions.lost
        main.ended = True
        with pytest.raises(TransientError) as met, sessions.guard():
            raise _ASSERTION
        assert met.value.code == "E0511" and sessions.lost


@pytest.mark.parametrize("error", [_ASSERTION, ConnectionError("Socket closed")])
def test_a_server_that_opens_no_session_is_replaced(
    hold: server.Attachment, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It may take longer to end than a server has, or be of no use for another reason."""
    limits = replace(LIMITS, server_stop_seconds=0, server_answer_seconds=0)
    monkeypatch.setattr(server, "LIMITS", limits)
    monkeypatch.setattr(session, "LIMITS", limits)
    opened, replaced = list[str](), list[server.Attachment]()
    main: Any = _Session()

    def open_local(config: SparkConfig, hold: server.Attachment, seconds: float) -> Sessions:
        opened.append(hold.nonce)
        if len(opened) == 1:
            raise translate(error)
        return Sessions(main, lambda: main, hold)

    monkeypatch.setattr(session, "_open_local", open_local)
    monkeypatch.setattr(server, "attach", lambda config: hold)
    monkeypatch.setattr(server, "replace", replaced.append)
    with session.open_sessions(SparkConfig(2, 1024, 2, 30.0)) as sessions:
        assert sessions.main is main
    assert replaced == [hold] and len(opened) == 2


RAISING = """
import dataclasses, sys
import floodmark
from floodmark.spark.confs import default_config

def work(root):
    config = dataclasses.replace(default_config(), shuffle_partitions=2)
    fm = floodmark.connect(root + "/warehouse", spark=config)
    fm.execute("CREATE SOURCE s (a INT) "
               f"WITH (connector = 'files', path = '{root}/landing') FORMAT PLAIN ENCODE JSON")
    fm.advance()
    raise ValueError("of the program")

work(sys.argv[1])
"""


@pytest.mark.spark
def test_a_program_that_raises_ends_though_nothing_was_closed(
    tmp_path: Path, sessions: Sessions
) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a.json").write_text('{"a": 1}\n')
    root = str(Path(floodmark.__file__).parent.parent)
    # Half gone, Python waited for gRPC for ever.
    ended = subprocess.run(
        [sys.executable, "-c", RAISING, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.rstrip().endswith("ValueError: of the program")


def test_a_remote_session_that_infers_constraints_is_refused() -> None:
    asserted = SparkConfig(1, 1024, 1, remote="sc://elsewhere").session_confs
    assert asserted["spark.sql.constraintPropagation.enabled"] == "false"
