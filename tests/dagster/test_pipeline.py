"""The multi-asset: what it reports, when it reports nothing, and what a suspension does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from floodmark_dagster.jobs.maintenance_job import maintenance_job
from tests.dagster.pipeline_skin import (  # noqa: F401
    PIPELINE,
    QUIET,
    Skin,
    make_materialized,
    make_skin,
)
from tests.refused_at_rest import rewrite_at_rest

Names = Callable[[dg.ExecuteInProcessResult], set[str]]
ALL = {"readings", "other", "totals", "stations", "hours", "others", "fill__sink"}


def _checks(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str], bool]:
    return {
        (e.asset_key.to_user_string(), e.check_name): e.passed
        for e in result.get_asset_check_evaluations()
    }


@pytest.mark.spark
def test_a_run_reports_every_object_once_and_the_next_one_nothing(
    skin: Skin, materialized: Names
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land(2, 4)
    first = skin.run(instance)
    assert first.success
    assert materialized(first) == ALL
    found = _checks(first)
    assert all(found.values()), found
    assert ("readings", "rows_accounted_for") in found
    assert ("hours", "closed_windows_final") in found

    event = instance.get_latest_materialization_event(dg.AssetKey("readings"))
    assert event is not None and event.asset_materialization is not None
    metadata = {k: v.value for k, v in event.asset_materialization.metadata.items()}
    assert metadata["rows_in"] == metadata["rows_out"] == metadata["dagster/row_count"] == 6
    assert {"epoch", "late_rows", "dead_rows", "watermark_lag_s", "state_rows", "state_bytes",
            "duration_s"} <= metadata.keys()  # fmt: skip

    second = skin.run(instance)
    assert second.success and materialized(second) == set()
    assert maintenance_job.execute_in_process(
        resources=skin.resources, run_config=QUIET, instance=instance
    ).success


@pytest.mark.spark
def test_a_suspended_object_fails_alone(skin: Skin, materialized: Names) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    assert skin.run(instance).success
    skin.land(2, 4)
    skin.land_other("2.parquet", pa.array([2], pa.int64()))
    with skin.connect() as floodmark:
        now = floodmark.clock.now()
        floodmark.warehouse.log.record("suspend", now, "bad file", object="other", code="E0478")
    result = skin.run(instance)
    assert not result.success
    (failure,) = result.get_step_failure_events()
    details = failure.step_failure_data.user_failure_data
    assert details is not None and "other" in (details.description or "")
    assert materialized(result) == ALL - {"other", "others"}
    assert _checks(result)["other", "not_suspended"] is False
    assert _checks(result)["others", "not_suspended"] is False
    # It stays so in the next run, and what has nothing new keeps its checks.
    again = skin.run(instance)
    # What a failed run has planned and not told would be shown as failed, right or not.
    assert not again.success and materialized(again) == ALL - {"other", "others"}
    assert _checks(again)["others", "not_suspended"] is False
    assert _checks(again)["readings", "rows_accounted_for"] is True


@pytest.mark.spark
def test_what_waits_for_a_plan_is_not_told_as_made_by_the_new_files(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    assert skin.run(instance).success
    before = _code_versions(skin)
    skin.define(PIPELINE.format(landing=skin.landing).replace("max(v)", "min(v)"))
    assert before["stations"] != _code_versions(skin)["stations"]
    skin.land(2, 2)
    result = skin.run(instance)
    assert result.success
    told = {
        event.asset_key.to_user_string(): event.step_materialization_data.materialization.tags[
            "dagster/code_version"
        ]
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    # Dagster shows it as made by other code, once the location is loaded anew.
    assert told["stations"] == before["stations"]
    assert told["readings"] == before["readings"] == _code_versions(skin)["readings"]


def _code_versions(skin: Skin) -> dict[str, str | None]:
    return {spec.key.to_user_string(): spec.code_version for spec in skin.assets.specs}


@pytest.mark.spark
def test_a_missing_folder_fails_the_run_once_the_others_are_reported(
    skin: Skin, materialized: Names
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    assert skin.run(instance).success
    (skin.landing / "other").rmdir()
    skin.land(2, 4)
    result = skin.run(instance)
    assert not result.success
    (failure,) = result.get_step_failure_events()
    details = failure.step_failure_data.user_failure_data
    assert details is not None and "E0475" in (details.description or "")
    assert {"readings", "stations", "hours"} <= materialized(result)


def _run_only(
    skin: Skin, instance: dg.DagsterInstance, selection: dg.AssetSelection
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [skin.assets], instance=instance, resources=skin.resources, run_config=QUIET,
        selection=selection, raise_on_error=False,
    )  # fmt: skip


@pytest.mark.spark
def test_a_selection_advances_and_reports_nothing_else(skin: Skin, materialized: Names) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    with skin.connect() as floodmark:  # epochs that Dagster has not driven
        skin.warehouse.deploy(floodmark)
        floodmark.advance()
    assert materialized(skin.run(instance)) == ALL
    skin.land(2, 4)
    early = _run_only(skin, instance, dg.AssetSelection.assets("stations"))
    assert early.success and materialized(early) == set()
    picked = dg.AssetSelection.assets("readings", "stations")
    assert materialized(_run_only(skin, instance, picked)) == {"readings", "stations"}
    assert materialized(_run_only(skin, instance, picked)) == set()
    with skin.connect() as floodmark:
        assert floodmark.warehouse.log.head().open is not None

    checks = _run_only(skin, instance, dg.AssetSelection.checks_for_assets("stations"))
    assert checks.success and materialized(checks) == set()
    assert ("stations", "stream_key_unique") in _checks(checks)
    with skin.connect() as floodmark:
        assert floodmark.warehouse.log.head().open is not None

    rest = skin.run(instance)
    assert rest.success and all(_checks(rest).values())
    # What has not changed is not reported: no rows of `other`, nothing new of the selected.
    assert materialized(rest) == {"totals", "hours", "fill__sink"}
    with skin.connect() as floodmark:
        assert not floodmark.has_new()


def test_the_asset_of_an_object_says_what_it_is(skin: Skin) -> None:
    specs = {spec.key.to_user_string(): spec for spec in skin.assets.specs}
    assert set(specs) == ALL
    readings, stations = specs["readings"], specs["stations"]
    assert readings.description == "Readings of all stations"
    assert readings.group_name == stations.group_name == "public"
    assert "source" in readings.kinds and "view" in stations.kinds
    assert [d.asset_key.to_user_string() for d in specs["totals"].deps] == ["fill__sink"]
    (place,) = readings.metadata["dagster/code_references"].code_references
    assert place.line_number == 3
    lineage = stations.metadata["dagster/column_lineage"].deps_by_column
    assert [(d.asset_key.to_user_string(), d.column_name) for d in lineage["highest"]] == [
        ("readings", "v")
    ]


@pytest.mark.spark
@pytest.mark.parametrize("text", ["SELECT no_function(id) AS id", "SELECT FROM WHERE"])
def test_a_definition_that_is_refused_fails_alone(
    skin: Skin, materialized: Names, text: str
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    assert skin.run(instance).success
    rewrite_at_rest(Path(skin.warehouse.root), "others", "SELECT id", text)
    skin.land(2, 4)
    skin.land_other("2.parquet", pa.array([2], pa.int64()))
    with skin.connect() as floodmark:
        code = floodmark.warehouse.suspensions()["others"].code
    result = skin.run(instance)
    assert not result.success
    (failure,) = result.get_step_failure_events()
    details = failure.step_failure_data.user_failure_data
    assert details is not None and "suspended: others" in (details.description or "")
    assert str(details.metadata["others"].value).startswith(f"{code}: this version refuses")
    assert materialized(result) == ALL - {"others"}
    assert _checks(result)["others", "not_suspended"] is False
