"""What becomes of an epoch whose server is gone or given up: no suspension is lost with it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floodmark.api import connect
from floodmark.epochs import run
from floodmark.errors import DataError, TransientError
from floodmark.spark import deadline, server
from floodmark.spark.confs import SparkConfig
from floodmark.spark.launch import TOKEN_VARIABLE
from floodmark.spark.remote import Remote
from floodmark.spark.session import Sessions, open_sessions

pytestmark = pytest.mark.spark

TWO = """
CREATE TABLE t (k INT PRIMARY KEY);
CREATE MATERIALIZED VIEW endless AS SELECT k AS x FROM t;
CREATE MATERIALIZED VIEW quick AS SELECT k + 1 AS x FROM t;
"""
SPIN = """
CREATE FUNCTION spin(a INT) RETURNS INT LANGUAGE python IMMUTABLE AS $$
def spin(a):
    while a:
        pass
    return a
$$;
CREATE FUNCTION rest(a INT) RETURNS INT LANGUAGE python IMMUTABLE AS $$
def rest(a):
    return a
$$;
""" + TWO.replace("k AS x", "spin(k) AS x").replace("k + 1 AS x", "rest(k) AS x")


def test_a_suspension_is_logged_though_another_object_met_the_world_first(
    tmp_path: Path, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = threading.Event()

    def advanced(found: Any, *rest: Any) -> Any:
        if found.key == "quick":
            lost.set()
            raise TransientError("E0511", "the Spark server is gone")
        if found.key == "endless":
            assert lost.wait(60)
            raise DataError("E0459", "endless took longer than query_timeout")
        return advance(found, *rest)

    advance = run.advance_object
    with connect(tmp_path / "w", sessions=lambda: sessions) as warehouse:
        warehouse.execute_script(TWO)
        with monkeypatch.context() as patch, pytest.raises(TransientError) as met:
            patch.setattr(run, "advance_object", advanced)
            warehouse.execute("INSERT INTO t VALUES (1)")
        assert met.value.code == "E0511"
        (suspended,) = warehouse.warehouse.log.suspensions().items()
        assert suspended[0] == "endless" and "E0459" in str(suspended[1])
        warehouse.advance()
        assert warehouse.execute("SELECT x FROM quick").rowcount == 1


@pytest.mark.usefixtures("spark_alone")
def test_an_epoch_goes_on_in_sessions_that_somebody_else_opens(
    tmp_path: Path, spark_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another() -> Sessions:
        """Open sessions that end without their server, as those on a remote one do."""
        owned = open_sessions(spark_config)
        return Sessions(owned.main, lambda: owned.ingest)

    def shared() -> Sessions:
        if opened[-1].lost:
            opened.append(another())
        return opened[-1]

    def lost_once(found: Any, *rest: Any) -> Any:
        if found.key == "quick" and len(opened) == 1:
            opened[-1].abandon()
        return advance(found, *rest)

    opened, advance = [another()], run.advance_object
    try:
        with connect(tmp_path / "w", sessions=shared) as warehouse:
            warehouse.execute_script(TWO)
            monkeypatch.setattr(run, "advance_object", lost_once)
            with pytest.raises(TransientError) as met:
                warehouse.execute("INSERT INTO t VALUES (1)")
            assert met.value.code == "E0511" and opened[0].lost
            warehouse.advance()
            assert len(opened) == 2 and not warehouse.warehouse.log.suspensions()
            assert warehouse.execute("SELECT x FROM quick").rowcount == 1
    finally:
        for each in opened:
            each.close()


@pytest.fixture(scope="module")
def remote(spark_config: SparkConfig) -> Iterator[SparkConfig]:
    """Yield the configuration of a server that these tests did not start, as far as they know."""
    config = dataclasses.replace(
        spark_config, heap_mb=1024, extra=(("spark.app.name", "floodmark-test-lost"),)
    )
    hold = server.attach(config)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(TOKEN_VARIABLE, hold.token)
            yield dataclasses.replace(config, remote=Remote(hold.url))
    finally:
        hold.release()
        server.stop(config)


@pytest.mark.long
def test_a_remote_server_outlives_what_takes_too_long_there(
    tmp_path: Path, remote: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(tmp_path / "w", spark=remote) as warehouse:
        warehouse.execute_script(SPIN)
        warehouse.execute("INSERT INTO t VALUES (0)")
        # As if Spark did not hear the interrupt.
        monkeypatch.setattr(deadline.Deadline.__init__, "__defaults__", (0.0,))
        warehouse.execute("SET query_timeout = '20 seconds'")
        first = warehouse.sessions()
        try:
            warehouse.execute("INSERT INTO t VALUES (1)")
        except TransientError as error:
            assert error.code == "E0511"
        assert first.lost
        warehouse.advance()
        assert list(warehouse.warehouse.log.suspensions()) == ["endless"]
        assert "E0459" in str(warehouse.warehouse.log.suspensions()["endless"])
        assert warehouse.execute("SELECT x FROM quick").rowcount == 2
        warehouse.execute("DROP MATERIALIZED VIEW endless")
        assert warehouse.sessions() is not first
    with open_sessions(remote) as opened:
        assert opened.main.range(3).count() == 3
