"""A sink to the outside is an asset with numbers of its own; one that cannot write fails alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from tests.dagster.pipeline_skin import Skin, make_materialized, make_skin  # noqa: F401

Names = Callable[[dg.ExecuteInProcessResult], set[str]]
SINK = """
CREATE SINK told FROM stations WITH (connector = 'files', path = '{out}', type = 'upsert')
    FORMAT PLAIN ENCODE JSON;
"""


@pytest.fixture
def out(skin: Skin) -> Path:
    """Add a sink to the pipeline files and return its folder."""
    folder = skin.landing.parent / "out"
    file = next(Path(skin.warehouse.pipelines).glob("*.sql"))
    file.write_text(file.read_text() + SINK.format(out=folder))
    return folder


def test_the_asset_says_where_it_writes(skin: Skin, out: Path) -> None:
    spec = {s.key.to_user_string(): s for s in skin.assets.specs}["told__sink"]
    assert [d.asset_key.to_user_string() for d in spec.deps] == ["stations"]
    assert spec.kinds == {"sink", "json"}
    assert spec.metadata["dagster/uri"] == out.as_uri()


@pytest.mark.spark
def test_a_run_reports_what_was_written(skin: Skin, out: Path, materialized: Names) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    first = skin.run(instance)
    assert first.success and "told__sink" in materialized(first)
    event = instance.get_latest_materialization_event(dg.AssetKey("told__sink"))
    assert event is not None and event.asset_materialization is not None
    metadata = {k: v.value for k, v in event.asset_materialization.metadata.items()}
    written = sum(len(p.read_text().splitlines()) for p in out.glob("told-*.json"))
    assert metadata["rows_out"] == written > 0
    assert materialized(skin.run(instance)) == set()

    kept = out.rename(out.with_name("kept"))
    out.write_text("no folder")
    skin.land(2, 4)
    second = skin.run(instance)
    assert not second.success and "stations" in materialized(second)
    out.unlink()
    kept.rename(out)
    third = skin.run(instance)
    assert third.success and materialized(third) == {"told__sink"}
    assert sum(len(p.read_text().splitlines()) for p in out.glob("told-*.json")) > written
