"""Every query of Nexmark equals its batch after each epoch, whether views or data come first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.nexmark.data import Data, Landing, write
from benchmarks.nexmark.queries import NAMES, definition, query, schema
from benchmarks.nexmark.spark import offer
from floodmark.api import Floodmark, connect
from floodmark.spark.session import Sessions
from floodmark.tools.equivalence import compare

pytestmark = pytest.mark.spark
DATA = Data(events=3_000, rate=100, parts=4)
"""30 s of event time; an auction is open for 17 s on average."""
AT_ONCE = 6


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the events of this module."""
    folder = tmp_path_factory.mktemp("nexmark") / "data"
    write(spark, folder, DATA)
    return folder


def check(fm: Floodmark, names: Sequence[str]) -> None:
    """Fail where a view differs from its query over the newest sealed cut, or lost rows."""
    log = fm.warehouse.log
    assert not {key: event.message for key, event in log.suspensions().items()}
    head = log.head().sealed
    records = log.seal_record(head).objects
    assert not {key: r for key, r in records.items() if r.late_rows or r.dead_rows}
    chunks = (names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE))
    found = {key: d for chunk in chunks for key, d in compare(fm, chunk).items()}
    assert not {key: d for key, d in found.items() if d.rows}


def deploy(fm: Floodmark, pipelines: Path, views: Sequence[str] = ()) -> None:
    """Create the sources, or the views, all in one epoch."""
    pipelines.mkdir(exist_ok=True)
    text = "\n".join(map(definition, views)) or schema(pipelines.parent / "landing")
    name = "views" if views else "sources"
    (pipelines / f"{name}.sql").write_text(text, encoding="utf-8")
    fm.deploy(pipelines)


def advance(fm: Floodmark, root: Path, events: Path, views: Sequence[str], first: int) -> None:
    """Create the views after `first` parts of the data, then compare after each epoch."""
    landing = Landing(events, root / "landing")
    deploy(fm, root / "pipelines")
    if first:
        landing.arrive(first)
        fm.advance()
    deploy(fm, root / "pipelines", views)
    if first:
        check(fm, views)
    for _ in range(first, DATA.parts):
        landing.arrive()
        fm.advance(max_epochs=1)
        check(fm, views)


def counts(fm: Floodmark, names: Sequence[str]) -> dict[str, int]:
    """Return how many rows each view has."""
    return {name: fm.execute(f"SELECT count(*) FROM {name}").rows[0][0] for name in names}


def plain_counts(spark: SparkSession, names: Sequence[str], events: Path) -> dict[str, int]:
    """Return how many rows Spark's own SQL gives over the files."""
    offer(spark, events)
    return {name: spark.sql(query(name, "spark")).count() for name in names}


def run(names: Sequence[str], root: Path, events: Path, sessions: Sessions, first: int) -> None:
    with connect(root / "warehouse", sessions=lambda: sessions) as fm:
        advance(fm, root, events, names, first)
        found = counts(fm, names)
    assert all(found.values())
    assert found == plain_counts(sessions.main, names, events)


def test_views_before_data_and_data_before_views(
    tmp_path: Path, events: Path, sessions: Sessions
) -> None:
    """Half of the queries are views before there is data, the others after half of it."""
    landing = Landing(events, tmp_path / "landing")
    pipelines = tmp_path / "pipelines"
    half = DATA.parts // 2
    with connect(tmp_path / "warehouse", sessions=lambda: sessions) as fm:
        deploy(fm, pipelines)
        deploy(fm, pipelines, NAMES[::2])
        landing.arrive(half)
        fm.advance(max_epochs=1)
        deploy(fm, pipelines, NAMES)
        landing.arrive(half)
        fm.advance(max_epochs=1)
        check(fm, NAMES)
        found = counts(fm, NAMES)
    assert all(found.values())
    assert found == plain_counts(sessions.main, NAMES, events)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", [0, 2], ids=["views then data", "data then views"])
def test_all_queries(first: int, tmp_path: Path, events: Path, sessions: Sessions) -> None:
    run(NAMES, tmp_path, events, sessions, first)
