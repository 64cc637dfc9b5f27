"""Backfills of partitions and the backfill job: what they correct, and when they refuse."""

from __future__ import annotations

from collections.abc import Callable

import dagster as dg
import pytest

from floodmark_dagster.jobs.backfill_job import backfill_job
from tests.dagster.pipeline_skin import QUIET, Skin, make_materialized, make_skin  # noqa: F401

ALL = {"readings", "other", "totals", "stations", "hours", "others", "fill__sink"}
HOURS = dg.AssetKey("hours")


def _backfill(
    skin: Skin, instance: dg.DagsterInstance, first: str, last: str
) -> dg.ExecuteInProcessResult:
    spans = {"start": first, "end": last}
    return dg.materialize(
        [skin.assets], instance=instance, resources=skin.resources, run_config=QUIET,
        selection="hours", raise_on_error=False,
        tags={f"dagster/asset_partition_range_{side}": key for side, key in spans.items()},
    )  # fmt: skip


@pytest.mark.spark
def test_a_backfill_of_partitions_corrects_what_came_late(
    skin: Skin, materialized: Callable[[dg.ExecuteInProcessResult], set[str]]
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land(2, 4, day=3)
    assert skin.run(instance).success
    skin.land(3, 1)
    assert skin.run(instance).success
    assert _numbers(_backfill(skin, instance, "2013-01-01", "2013-01-02")) == (2, 0, 0)
    assert _numbers(_backfill(skin, instance, "2013-01-01", "2013-01-01")) == (0, 0, 0)
    refused = _backfill(skin, instance, "2013-01-01", "2013-01-03")
    (failure,) = refused.get_step_failure_events()
    details = failure.step_failure_data.user_failure_data
    assert details is not None and "E0303" in (details.description or "")
    assert sorted(instance.get_materialized_partitions(HOURS)) == ["2013-01-01", "2013-01-02"]

    # The other assets of a backfill advance first; Dagster waits for each, news or not.
    others = dg.materialize(
        [skin.assets], instance=instance, resources=skin.resources, run_config=QUIET,
        selection=dg.AssetSelection.all() - dg.AssetSelection.assets(HOURS),
        tags={"dagster/backfill": "all"},
    )  # fmt: skip
    assert others.success and materialized(others) == ALL - {"hours"}

    skin.land(4, 2)
    assert skin.run(instance).success
    wanted = {"view": "hours", "start": "2013-01-01", "end": "2013-01-01T02:00"}
    config = {**QUIET, "ops": {"backfill_view": {"config": wanted}}}
    job = backfill_job.execute_in_process(config, resources=skin.resources, instance=instance)
    assert job.success
    with skin.connect() as floodmark:
        told = floodmark.execute("SELECT backfill, kind, n FROM hours__corrections").rows
    assert sorted(told) == [(1, "+U", 2), (1, "+U", 4), (1, "-U", 1), (1, "-U", 2)]


def _numbers(result: dg.ExecuteInProcessResult) -> tuple[object, ...]:
    assert result.success
    event = result.get_asset_materialization_events()[0]
    found = {k: v.value for k, v in event.materialization.metadata.items()}
    return tuple(found[f"rows_{name}"] for name in ("changed", "added", "taken_back"))
