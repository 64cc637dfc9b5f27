"""The sensor asks for a run where time alone closes the windows of a source that stopped."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from tests.dagster.pipeline_skin import Skin, make_skin  # noqa: F401

START = datetime(2013, 2, 1, tzinfo=UTC)
DEFINED = """
CREATE SOURCE closing (ts TIMESTAMPTZ, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = '{landing}', watermark.advance = 'now() - 10m')
  FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW closed AS SELECT ts FROM closing EMIT ON WINDOW CLOSE;
"""


def _at(skin: Skin, minutes: float) -> None:
    skin.stand_at(START + timedelta(minutes=minutes))


@pytest.mark.spark
def test_a_run_is_asked_for_once_when_time_closes_something(skin: Skin) -> None:
    folder = skin.landing / "closing"
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps({"ts": f"{START}"}))
    skin.define(DEFINED.format(landing=folder))
    instance = dg.DagsterInstance.ephemeral()
    _at(skin, 0)
    assert skin.run(instance).success
    _at(skin, 10)
    assert not skin.asks(instance)
    _at(skin, 11)
    assert skin.asks(instance)
    assert skin.run(instance).success
    event = instance.get_latest_materialization_event(dg.AssetKey("closed"))
    assert event is not None and event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    assert metadata["rows_out"].value == 1 and metadata["watermark_lag_s"].value == 600
    assert not skin.asks(instance)
    _at(skin, 10_000)
    assert not skin.asks(instance)
