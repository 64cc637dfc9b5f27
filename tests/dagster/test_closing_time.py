"""The sensor asks for a run where time alone closes the windows of a source that stopped."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from resources.clock import EngineClock
from resources.warehouse import Warehouse
from sensors.new_data import make_new_data_sensor
from tests.dagster.pipeline_skin import Skin, make_skin  # noqa: F401

START = datetime(2013, 2, 1, tzinfo=UTC)
DEFINED = """
CREATE SOURCE closing (ts TIMESTAMPTZ, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = '{landing}', watermark.advance = 'now() - 10m')
  FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW closed AS SELECT ts FROM closing EMIT ON WINDOW CLOSE;
"""


def _asks(skin: Skin, instance: dg.DagsterInstance) -> bool:
    sensor = make_new_data_sensor("epoch_job")
    with dg.build_sensor_context(instance=instance, resources=skin.resources) as context:
        return isinstance(sensor(context), dg.RunRequest)


def _at(skin: Skin, minutes: float) -> None:
    """Let the clock of the engine stand at a time."""
    clock = EngineClock(fixed=(START + timedelta(minutes=minutes)).isoformat())
    known = skin.warehouse
    skin.warehouse = Warehouse(
        root=known.root, pipelines=known.pipelines, checks=known.checks, spark=skin.spark,
        clock=clock,
    )  # fmt: skip


@pytest.mark.spark
def test_a_run_is_asked_for_once_when_time_closes_something(skin: Skin) -> None:
    folder = skin.landing / "closing"
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps({"ts": f"{START}"}))
    (file,) = Path(skin.warehouse.pipelines).glob("*.sql")
    file.write_text(DEFINED.format(landing=folder))
    instance = dg.DagsterInstance.ephemeral()
    _at(skin, 0)
    assert skin.run(instance).success
    _at(skin, 10)
    assert not _asks(skin, instance)
    _at(skin, 11)
    assert _asks(skin, instance)
    assert skin.run(instance).success
    event = instance.get_latest_materialization_event(dg.AssetKey("closed"))
    assert event is not None and event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    assert metadata["rows_out"].value == 1 and metadata["watermark_lag_s"].value == 600
    assert not _asks(skin, instance)
    _at(skin, 10_000)
    assert not _asks(skin, instance)
