"""A small pipeline over Parquet files and the Dagster skin over it, for the tests beside this file.

Not a conftest: the folder cannot be a package, because it would hide Dagster itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import Floodmark
from floodmark_dagster.assets.factory import pipeline_assets
from floodmark_dagster.assets.partitions import Grain, event_time
from floodmark_dagster.jobs.epoch_job import EPOCH_JOB, make_epoch_job
from floodmark_dagster.resources.clock import EngineClock
from floodmark_dagster.resources.spark import FloodmarkSpark
from floodmark_dagster.resources.warehouse import Warehouse
from floodmark_dagster.sensors.new_data import make_new_data_sensor

PIPELINE = """
-- Readings of all stations
CREATE SOURCE readings (id BIGINT, station VARCHAR, ts TIMESTAMP, v INT,
  WATERMARK FOR ts AS ts - INTERVAL '1 hour')
  WITH (connector = 'files', path = '{landing}/readings') FORMAT PLAIN ENCODE PARQUET;
CREATE SOURCE other (id BIGINT)
  WITH (connector = 'files', path = '{landing}/other') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE totals (station VARCHAR PRIMARY KEY, n BIGINT);
CREATE MATERIALIZED VIEW stations AS
  SELECT station, count(*) AS n, max(v) AS highest FROM readings GROUP BY station;
CREATE MATERIALIZED VIEW hours AS
  SELECT window_start, count(*) AS n FROM TUMBLE(readings, ts, INTERVAL '1 hour')
  GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW others AS SELECT id FROM other;
CREATE SINK fill INTO totals AS SELECT station, count(*) FROM readings GROUP BY station;
"""
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class Skin:
    """The resources of one warehouse, its assets, and what lands in its folder."""

    landing: Path
    warehouse: Warehouse
    spark: FloodmarkSpark

    @cached_property
    def loaded(self) -> dg.AssetsDefinition:
        """Return the assets as they were when the code location was loaded: at the first use."""
        return self.assets

    @property
    def assets(self) -> dg.AssetsDefinition:
        """Return the multi-asset of the pipeline files as they are."""
        objects, grain = self.warehouse.definitions()
        shared = event_time(self.warehouse, Grain(grain))
        return pipeline_assets(objects, Path(self.warehouse.root), shared)

    @property
    def resources(self) -> dict[str, object]:
        """Return the resources as a code location has them."""
        return {"warehouse": self.warehouse}

    def run(self, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
        """Materialize everything."""
        return dg.materialize(
            [self.assets], instance=instance, resources=self.resources,
            run_config=QUIET, raise_on_error=False,
        )  # fmt: skip

    def tick(self, instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorResult:
        """Return what the sensor answers."""
        sensor = make_new_data_sensor("epoch_job", self.loaded.keys)
        with dg.build_sensor_context(
            instance=instance, resources=self.resources, cursor=cursor
        ) as context:
            result = sensor(context)
        assert isinstance(result, dg.SensorResult)
        return result

    def asks(self, instance: dg.DagsterInstance) -> bool:
        """Tell whether the sensor asks for a run."""
        return bool(self.tick(instance).run_requests)

    def asks_now(self) -> bool:
        """Tell whether a run would do anything."""
        with self.connect() as floodmark:
            return floodmark.has_new()

    def stand_at(self, time: datetime) -> None:
        """Let the clock of the engine stand at a time."""
        known = self.warehouse
        self.warehouse = Warehouse(
            root=known.root, pipelines=known.pipelines, checks=known.checks, spark=self.spark,
            clock=EngineClock(fixed=time.isoformat()),
        )  # fmt: skip

    def define(self, text: str) -> None:
        """Write another text into the pipeline file."""
        (file,) = Path(self.warehouse.pipelines).glob("*.sql")
        file.write_text(text)

    def land(self, number: int, hour: int, day: int = 1) -> None:
        """Put a file with three readings of an hour and the next into the folder."""
        moments = [datetime(2013, 1, day, hour), datetime(2013, 1, day, hour, 30)]
        moments.append(datetime(2013, 1, day, hour + 1))
        columns = {
            "id": pa.array([number * 10 + i for i in range(3)], pa.int64()),
            "station": pa.array(["a", "b", "a"]),
            "ts": pa.array(moments, pa.timestamp("us")),
            "v": pa.array([5, 7, None], pa.int32()),
        }
        folder = self.landing / "readings"
        pq.write_table(pa.table(columns), folder / f"{number:04}.parquet")

    def land_other(self, name: str, column: pa.Array) -> None:
        """Put a file into the folder of the other source."""
        pq.write_table(pa.table({"id": column}), self.landing / "other" / name)

    def connect(self) -> Floodmark:
        """Connect to the warehouse."""
        return self.warehouse.connect()


@pytest.fixture(name="skin")
def make_skin(tmp_path: Path) -> Skin:
    """Return the skin over an empty warehouse."""
    landing = tmp_path / "landing"
    for name in ("readings", "other"):
        (landing / name).mkdir(parents=True)
    pipelines = tmp_path / "pipelines"
    pipelines.mkdir()
    (pipelines / "010_readings.sql").write_text(PIPELINE.format(landing=landing))
    spark = FloodmarkSpark()
    warehouse = Warehouse(
        root=str(tmp_path / "warehouse"), pipelines=str(pipelines),
        checks=str(tmp_path / "checks"), spark=spark, clock=EngineClock(),
    )  # fmt: skip
    return Skin(landing, warehouse, spark)


@pytest.fixture(name="materialized")
def make_materialized() -> Callable[[dg.ExecuteInProcessResult], set[str]]:
    """Return the names of the assets that a run materialized."""

    def names(result: dg.ExecuteInProcessResult) -> set[str]:
        events = result.get_asset_materialization_events()
        return {event.asset_key.to_user_string() for event in events if event.asset_key}

    return names


def requested(
    skin: Skin, instance: dg.DagsterInstance, request: dg.RunRequest
) -> dg.ExecuteInProcessResult:
    """Run what the sensor has asked for."""
    assets = skin.assets
    defs = dg.Definitions(assets=[assets], jobs=[make_epoch_job(assets)], resources=skin.resources)
    return defs.resolve_job_def(EPOCH_JOB).execute_in_process(
        instance=instance, run_config=QUIET, tags=dict(request.tags),
        asset_selection=None if request.asset_selection is None else [*request.asset_selection],
        raise_on_error=False,
    )  # fmt: skip
