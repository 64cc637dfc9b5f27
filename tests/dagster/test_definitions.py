"""The code location: what it holds, how fast it loads, what the sensors decide."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from floodmark.errors import DataError
from floodmark.storage.durability import choose
from floodmark.storage.records.upgrades import FORMAT
from floodmark_dagster.sensors.watermark_stall import watermark_stall
from tests.dagster.pipeline_skin import Skin, make_skin  # noqa: F401

ROOT = Path(__file__).parents[2]
LOAD = """
import time
import dagster, dagster_pyspark, floodmark.api
started = time.process_time()
import definitions
took = time.process_time() - started
import sys
from pyspark.sql import SparkSession
dagster.Definitions.validate_loadable(definitions.defs)
print(took, "pandera" in sys.modules, SparkSession.getActiveSession())
"""


def test_definitions_load_within_a_second_and_without_spark(skin: Skin) -> None:
    variables = {
        **os.environ,
        "FLOODMARK_WAREHOUSE": skin.warehouse.root,
        "FLOODMARK_PIPELINES": skin.warehouse.pipelines,
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOAD],
        cwd=ROOT, env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    took, pandera, session = done.stdout.split()
    assert float(took) < 1.0
    assert pandera == "False" and session == "None"


def test_a_missing_pipeline_folder_is_an_error(skin: Skin, tmp_path: Path) -> None:
    variables = {
        **os.environ,
        "FLOODMARK_WAREHOUSE": str(tmp_path / "none"),
        "FLOODMARK_PIPELINES": str(tmp_path / "missing"),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import definitions"],
        cwd=ROOT, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "E0365" in done.stderr


def test_a_warehouse_of_a_newer_version_is_an_error(skin: Skin) -> None:
    assert skin.loaded.keys
    choose(Path(skin.warehouse.root), None)
    (record,) = Path(skin.warehouse.root).rglob("warehouse.json")
    text = record.read_text().replace(f'"format":{FORMAT}', '"format":9')
    record.write_text(text)
    with pytest.raises(DataError, match=rf"E0430.*format 9.*up to {FORMAT}"):
        skin.warehouse.definitions()
    with pytest.raises(dg.Failure, match=rf"E0430.*format 9.*up to {FORMAT}"):
        skin.tick(dg.DagsterInstance.ephemeral())
    written = {p: p.read_text() for p in Path(skin.warehouse.root).rglob("*") if p.is_file()}
    assert written == {record: text}


@pytest.mark.spark
def test_the_sensor_asks_for_a_run_when_there_is_something_new(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    assert skin.asks(instance)  # the objects are not deployed yet
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    assert skin.run(instance).success
    assert not skin.asks(instance)
    skin.land(1, 1)
    assert skin.asks(instance)
    queued = instance.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTED)
    assert not skin.asks(instance)
    instance.delete_run(queued.run_id)
    assert skin.asks(instance)


def test_a_watermark_is_not_stalled_in_an_empty_warehouse(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    with dg.build_sensor_context(instance=instance, resources=skin.resources) as context:
        result = watermark_stall(context)
    assert isinstance(result, dg.SensorResult) and not result.asset_events


def _job() -> dg.JobDefinition:
    @dg.op
    def nothing() -> None:
        return None

    @dg.job
    def epoch_job() -> None:
        nothing()

    return epoch_job
