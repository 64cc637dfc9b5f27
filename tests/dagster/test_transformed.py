"""A source that transforms its rows: what its materializations say, and when the sensor asks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from tests.dagster.pipeline_skin import Skin, make_skin  # noqa: F401

START = datetime(2024, 1, 1, 10, tzinfo=UTC)
DEFINED = """
CREATE SOURCE recent (id BIGINT, ts TIMESTAMPTZ)
  WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON
  TRANSFORM USING (SELECT id FROM recent WHERE id > 0 AND now() < ts + INTERVAL '10 minutes');
"""


def _metadata(instance: dg.DagsterInstance) -> dict[str, object]:
    event = instance.get_latest_materialization_event(dg.AssetKey("recent"))
    assert event is not None and event.asset_materialization is not None
    return {k: v.value for k, v in event.asset_materialization.metadata.items()}


def _at(skin: Skin, minutes: float) -> None:
    skin.stand_at(START + timedelta(minutes=minutes))


@pytest.mark.spark
def test_what_is_stored_and_the_next_bound_are_told(skin: Skin) -> None:
    folder = skin.landing / "recent"
    folder.mkdir()
    rows = [(1, 0), (2, 5), (-3, 5), (4, -60)]
    texts = (json.dumps({"id": i, "ts": f"{START + timedelta(minutes=m)}"}) for i, m in rows)
    (folder / "1.json").write_text("\n".join(texts))
    skin.define(DEFINED.format(landing=folder))
    instance = dg.DagsterInstance.ephemeral()
    _at(skin, 0)
    first = skin.run(instance)
    assert first.success and all(e.passed for e in first.get_asset_check_evaluations())
    told = _metadata(instance)
    assert (told["rows_in"], told["rows_stored"], told["rows_dropped"]) == (4, 2, 2)
    assert told["share_stored"] == 0.5
    assert told["next_due"] == (START + timedelta(minutes=10)).timestamp()
    _at(skin, 9)
    assert not skin.asks(instance)
    _at(skin, 10)
    assert skin.asks(instance)
    second = skin.run(instance)
    assert second.success and all(e.passed for e in second.get_asset_check_evaluations())
    told = _metadata(instance)
    assert (told["rows_in"], told["rows_timed"]) == (0, 1)
    assert not skin.asks(instance)
