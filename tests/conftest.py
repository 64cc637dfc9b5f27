"""What all tests share: one Spark server and its sessions for the whole run."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from floodmark.spark.confs import SparkConfig, default_config
from floodmark.spark.session import Sessions, open_sessions
from floodmark.storage.durability import VARIABLE as DURABLE
from tests.warehouses import Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.side_by_side import FilesTogether

collect_ignore = ["tables/plain_readers.py"]
"""What runs on the Python of an environment with other packages."""
# Power cuts are a matter of tests of their own: the others need not wait for the disk.
os.environ.setdefault(DURABLE, "false")
# Who starts tests in the background lets them, and all that they start, ignore an interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# How long an example takes depends on what else the machine does.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Most queries of the tests run once, over few rows: to compile them costs more than it saves.

Random programs, expressions, other cuts of the programs and all that runs in a process of its own
are compiled.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for a session of Spark; files with such tests, the long ones, come first."""
    for item in items:
        if "sessions" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    first = {item.path for item in items if item.get_closest_marker("spark")}
    items.sort(key=lambda item: item.path not in first)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether:
    """Return what deals the tests out to the processes of `pytest -n`."""
    from tests.side_by_side import FilesTogether

    return FilesTogether(config, log)


@pytest.fixture(scope="session")
def spark_config() -> SparkConfig:
    """Return the configuration of the tests: this machine's, with two shuffle partitions."""
    return dataclasses.replace(default_config(), shuffle_partitions=2)


@pytest.fixture(scope="session")
def sessions(spark_config: SparkConfig) -> Iterator[Sessions]:
    """Yield sessions on the server of the run, which stays for the next one."""
    with open_sessions(spark_config) as opened:
        for session in (opened.main, opened.ingest):
            for key, value in INTERPRETED.items():
                session.conf.set(key, value)
        yield opened


@pytest.fixture
def spark_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send small queries to Spark, too."""
    monkeypatch.setenv("FLOODMARK_IN_PROCESS", "false")


@pytest.fixture(scope="session")
def compiling_sessions(spark_config: SparkConfig) -> Iterator[Sessions]:
    """Yield sessions whose queries are compiled, as users' are."""
    with open_sessions(spark_config) as opened:
        yield opened


@pytest.fixture(scope="session")
def spark(sessions: Sessions) -> SparkSession:
    """Return the main session."""
    return sessions.main


@pytest.fixture
def tmp_warehouse(tmp_path: Path) -> Path:
    """Return an empty folder for a warehouse, one that the server sees too."""
    folder = tmp_path / "warehouse"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def week(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Site:
    """Return a week of the demo: `warehouse` before its last epoch, `undisturbed` after it."""
    from tests.demo_week import start_week
    from tests.warehouses import Site

    site = Site(tmp_path_factory.mktemp("week"), sessions)
    start_week(site)
    site.copy("warehouse", "undisturbed")
    ended = site.run("undisturbed")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return site


@pytest.fixture
def site(tmp_path: Path, sessions: Sessions) -> Site:
    """Return an empty site."""
    return Site(tmp_path, sessions)
