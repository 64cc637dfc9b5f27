"""The demo's landing folder: complete, in order, with its one planted line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demo.flights import MANIFEST, write_landing


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("landing")
    write_landing(out, 1)
    return out


def stream(landing: Path, name: str) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in sorted((landing / name).iterdir())])


def test_every_flight_of_the_month_departs_once(landing: Path) -> None:
    departures = stream(landing, "departures").to_pandas()
    assert len(departures) == 27_004
    assert departures["flight_id"].is_unique
    assert departures["departed_at"].isna().equals(departures["cancelled"])


def test_rows_come_in_the_order_in_which_things_happened(landing: Path) -> None:
    departures = stream(landing, "departures").to_pandas()
    assert departures["departed_at"].fillna(departures["scheduled_at"]).is_monotonic_increasing
    arrivals = stream(landing, "arrivals").to_pandas()
    assert arrivals["arrived_at"].is_monotonic_increasing
    behind = departures["scheduled_at"].cummax() - departures["scheduled_at"]
    assert (behind.dt.total_seconds() > 3 * 3600).sum() > 50


def test_a_flight_takes_as_long_as_it_was_in_the_air(landing: Path) -> None:
    departed = stream(landing, "departures").to_pandas().set_index("flight_id")["departed_at"]
    arrivals = stream(landing, "arrivals").to_pandas().set_index("flight_id")
    minutes = (arrivals["arrived_at"] - departed).dt.total_seconds() / 60 - arrivals["air_time"]
    assert minutes.dropna().between(0, 240).all()


def test_one_line_of_the_weather_is_broken(landing: Path) -> None:
    broken = 0
    for path in sorted((landing / "weather").iterdir()):
        for line in path.read_text().splitlines():
            try:
                json.loads(line)
            except ValueError:
                broken += 1
    assert broken == 1


def test_a_complete_folder_is_left_alone(landing: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in landing.glob("**/*")}
    rows = write_landing(landing, 1)
    assert rows["departures"] == 27_004
    assert before == {path: path.stat().st_mtime_ns for path in landing.glob("**/*")}
    assert json.loads((landing / MANIFEST).read_text())["months"] == 1
