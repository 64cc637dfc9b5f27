"""Rows come, and are counted on the way, without a question about their query before."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import functions as F

from floodmark.spark.round_trips import fetch, new_observation
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark


@pytest.fixture
def asked(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets what the server is asked about a query."""
    out: list[str] = []
    client = sessions.main.client
    real = client._analyze
    monkeypatch.setattr(
        client, "_analyze", lambda method, **k: (out.append(method), real(method, **k))[1]
    )
    return out


def test_rows_are_counted_while_they_are_written(
    sessions: Sessions, tmp_path: Path, asked: list[str]
) -> None:
    counted = new_observation()
    rows = sessions.main.range(5).selectExpr("id * 2 AS k")
    frame = rows.observe(counted, F.expr("count(*)").alias("n"), F.expr("max(k)").alias("last"))
    frame.where("k > 2").write.parquet(str(tmp_path / "rows"))
    assert counted.get == {"n": 5, "last": 8}
    assert asked == []
    with pytest.raises(AssertionError):
        rows.observe(counted, F.expr("count(*)").alias("n"))


@pytest.mark.parametrize("count", [0, 3])
def test_rows_are_of_the_types_that_pyspark_gives_them(
    sessions: Sessions, asked: list[str], count: int
) -> None:
    frame = sessions.main.range(count).selectExpr(
        "id", "CAST(id AS STRING) AS s", "TIMESTAMP_LTZ '2020-01-01 00:00:00' AS at",
        "TIMESTAMP_NTZ '2020-01-01 00:00:00' AS wall", "CAST(id AS DECIMAL(20, 3)) AS d",
        "array(struct(id AS a, X'01' AS b)) AS nested", "map('k', id) AS m",
        "INTERVAL '1' DAY AS i", "parse_json('[1]') AS v", "NULL AS nothing",
    )  # fmt: skip
    found = fetch(frame)
    assert asked == []
    wanted = frame.toArrow()
    assert found.schema == wanted.schema and found.equals(wanted)
    assert asked == ["schema"]
