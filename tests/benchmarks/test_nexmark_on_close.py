"""Queries of Nexmark that emit on close equal their batch results once every window has closed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks.nexmark.data import Data, Landing, write
from benchmarks.nexmark.queries import ON_CLOSE, STREAMS, definition, query, schema
from benchmarks.nexmark.spark import offer
from floodmark.api import Floodmark, connect
from floodmark.spark.session import Sessions
from tests.warehouses import visible

pytestmark = pytest.mark.spark
DATA = Data(events=3_000, rate=100, parts=4)
_LATER = timedelta(minutes=5)


def close_all(landing: Landing) -> None:
    """Let one more row of each table arrive, long after the last window."""
    for table in STREAMS:
        (first, *_) = sorted((landing.source / table).glob("*.parquet"))
        last = max(pc.max(pq.read_table(f)["date_time"]).as_py() for f in first.parent.iterdir())
        row = pq.read_table(first).slice(0, 1)
        place = row.schema.get_field_index("date_time")
        time = pa.array([last + _LATER], row.schema.field("date_time").type)
        pq.write_table(
            row.set_column(place, row.schema.field("date_time"), time),
            landing.folder / table / "part-99999.parquet",
        )


def closed(fm: Floodmark, warehouse: Path) -> dict[str, Counter[str]]:
    assert fm.warehouse.log.suspensions() == {}
    return {name: Counter(map(repr, visible(warehouse, name))) for name in ON_CLOSE}


@pytest.mark.long
@pytest.mark.parametrize("epochs", [1, DATA.parts])
def test_all_that_has_closed_is_the_batch_result(
    tmp_path: Path, sessions: Sessions, epochs: int
) -> None:
    events = tmp_path / "data"
    write(sessions.main, events, DATA)
    landing = Landing(events, tmp_path / "landing")
    with connect(tmp_path / "warehouse", sessions=lambda: sessions) as fm:
        text = "\n".join((schema(tmp_path / "landing"), *map(definition, ON_CLOSE)))
        (tmp_path / "pipelines").mkdir()
        (tmp_path / "pipelines" / "all.sql").write_text(text, encoding="utf-8")
        fm.deploy(tmp_path / "pipelines")
        before: dict[str, Counter[str]] = {name: Counter() for name in ON_CLOSE}
        for _ in range(epochs):
            landing.arrive(DATA.parts // epochs)
            fm.advance()
            found = closed(fm, tmp_path / "warehouse")
            assert all(not before[name] - found[name] for name in ON_CLOSE)
            before = found
        close_all(landing)
        fm.advance()
        found = closed(fm, tmp_path / "warehouse")
    offer(sessions.main, events)
    for name in ON_CLOSE:
        batch = sessions.main.sql(query(name, "spark")).collect()
        assert found[name] == Counter(repr(tuple(row)) for row in batch), name
        assert before[name], name
