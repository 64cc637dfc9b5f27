"""Flink writes what the engine stores, files and tables of Iceberg, to the last row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.nexmark import flink
from benchmarks.nexmark.data import Data, Landing, write
from benchmarks.nexmark.flink_cluster import is_installed
from benchmarks.nexmark.queries import NAMES, definition, schema
from floodmark.api import connect
from floodmark.spark.cache import cache_folder
from floodmark.spark.session import Sessions

CACHE = cache_folder() / "bench"
WAY = flink.WAYS["flink-durable"]
pytestmark = [
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not is_installed(CACHE, WAY.flavour), reason="the Nexmark benchmark installs Flink"
    ),
]
DATA = Data(events=6_000, rate=200, parts=4)
"""30 s of event time, in whole milliseconds: Flink has no finer ones."""
CHOSEN = tuple(name for name in NAMES if name != "q6")
"""Flink refuses q6."""


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the events of this module."""
    folder = tmp_path_factory.mktemp("nexmark") / "data"
    write(spark, folder, DATA)
    return folder


@pytest.fixture(scope="module")
def ours(
    events: Path, sessions: Sessions, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Sequence[object]]]:
    """Return the rows of all views."""
    root = tmp_path_factory.mktemp("ours")
    landing = Landing(events, root / "landing")
    with connect(root / "warehouse", sessions=lambda: sessions) as fm:
        fm.execute_script(schema(root / "landing"))
        for name in CHOSEN:
            fm.execute(definition(name))
        landing.arrive_all()
        fm.advance()
        assert not fm.warehouse.log.suspensions()
        return {name: list(fm.execute(f"SELECT * FROM {name}").rows) for name in CHOSEN}


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[flink.Clusters]:
    """Yield what runs Flink."""
    with flink.Clusters(CACHE, tmp_path_factory.mktemp("flink")) as running:
        yield running


@pytest.mark.parametrize("name", CHOSEN)
def test_what_flink_wrote_is_the_view(
    name: str,
    events: Path,
    ours: dict[str, list[Sequence[object]]],
    clusters: flink.Clusters,
    tmp_path: Path,
) -> None:
    ran = clusters.run(WAY, name, events, tmp_path / "rows")
    theirs = clusters.written(WAY, ran)
    assert len(theirs) == len(ours[name]) > 0
    expected = [[_said_by_flink(name, value) for value in row] for row in ours[name]]
    assert sorted(theirs) == sorted(expected)


def _said_by_flink(name: str, value: object) -> str:
    """Return a value as text: means of whole numbers are whole there, a part that lacks is NULL."""
    if name in ("q4", "q17") and isinstance(value, Decimal):
        return str(int(value))
    return str(None if name == "q22" and value == "" else value)
