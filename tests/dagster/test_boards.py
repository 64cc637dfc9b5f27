"""Boards tell the truth: nothing right is red, nothing wrong is green, and what changed is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from floodmark.cli.app import app
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.warehouse.deployed import statements_of
from floodmark_dagster.assets.audits import AUDITS, EQUIVALENCE
from floodmark_dagster.assets.factory import EVERYTHING
from floodmark_dagster.assets.markdown import code_block
from floodmark_dagster.assets.partitions import Grain, event_time
from floodmark_dagster.jobs.plan_job import apply_job, plan_job
from floodmark_dagster.resources.clock import EngineClock
from floodmark_dagster.resources.warehouse import Warehouse
from floodmark_dagster.sensors.pipeline_files import pipeline_files
from tests.dagster.pipeline_skin import (  # noqa: F401
    PIPELINE,
    QUIET,
    Skin,
    make_materialized,
    make_skin,
    requested,
)

OTHER = dg.AssetKey("other")
Names = Callable[[dg.ExecuteInProcessResult], set[str]]


def _events(result: dg.ExecuteInProcessResult, kind: dg.DagsterEventType) -> list[dg.DagsterEvent]:
    return [e for e in result.all_events if e.event_type is kind]


def _tick_of_files(skin: Skin) -> dg.SkipReason:
    instance = dg.DagsterInstance.ephemeral()
    with dg.build_sensor_context(instance=instance, resources=skin.resources) as context:
        result = pipeline_files(context)
    assert isinstance(result, dg.SkipReason)
    return result


@pytest.mark.parametrize("text", ["", "a\n```\nb", "`````", "~~~ ``", "```` and ```"])
def test_no_text_ends_its_block(text: str) -> None:
    first, *lines, last = code_block(text, "sql").split("\n")
    fence = first.removesuffix("sql")
    assert last == fence and set(fence) == {"`"} and len(fence) >= 3
    assert "\n".join(lines) == text and fence not in text


def test_metadata_in_markdown_keeps_its_block(skin: Skin) -> None:
    skin.define(PIPELINE.format(landing=skin.landing) + "CREATE VIEW f AS SELECT '````' AS a;")
    spec = {s.key.to_user_string(): s for s in skin.assets.specs}["f"]
    blocks = [v.value for v in spec.metadata.values() if isinstance(v, dg.MarkdownMetadataValue)]
    assert len(blocks) == 2 and all(text.split("\n")[-1] == "`````" for text in blocks)


@pytest.mark.spark
def test_partitions_end_before_the_open_one(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land(2, 4, day=3)
    assert skin.run(instance).success
    keys = event_time(skin.warehouse, Grain()).definition.get_partition_keys()
    assert keys == ["2013-01-01", "2013-01-02"]
    everything = dg.materialize(
        [skin.assets], instance=instance, resources=skin.resources, run_config=QUIET,
        selection="hours", raise_on_error=False,
        tags={"dagster/asset_partition_range_start": keys[0],
              "dagster/asset_partition_range_end": keys[-1]},
    )  # fmt: skip
    assert everything.success
    # What was planned in a run that fails is told all the same, and stays right.
    failed = dg.materialize(
        [skin.assets], instance=instance, resources=skin.resources, run_config=QUIET,
        selection="hours", raise_on_error=False,
        tags={"dagster/asset_partition_range_start": keys[0],
              "dagster/asset_partition_range_end": "2013-01-03"},
    )  # fmt: skip
    assert not failed.success
    told = {
        e.check_name: (e.passed, e.severity.value) for e in failed.get_asset_check_evaluations()
    }
    hours = dg.AssetKey("hours")
    assert told.keys() == {key.name for key in skin.assets.check_keys if key.asset_key == hours}
    assert {
        name for name, (passed, level) in told.items() if not passed and level == "ERROR"
    } == set()
    assert {name for name, (passed, _) in told.items() if not passed} <= set(AUDITS)


@pytest.mark.spark
def test_a_replaced_view_raises_no_alarm(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land(2, 4)
    assert skin.run(instance).success
    text = PIPELINE.format(landing=skin.landing)
    skin.define(text.replace("max(v) AS highest", "min(v) AS highest"))
    with pytest.raises(dg.Failure, match="E0361") as raised:
        _tick_of_files(skin)
    assert "-  SELECT" in str(raised.value) and "plan_job" in str(raised.value)
    assert "```" not in str(raised.value), "an error of Dagster is no Markdown"
    # What is deployed goes on.
    skin.land(3, 6)
    assert skin.asks(instance)
    assert skin.run(instance).success
    shown = plan_job.execute_in_process(
        QUIET, resources=skin.resources, instance=instance
    )  # fmt: skip
    assert shown.success
    (output,) = [e for e in shown.all_events if e.is_successful_output]
    plan = output.step_output_data.metadata["plan"]
    assert isinstance(plan, dg.MarkdownMetadataValue)
    assert plan.value.startswith("```diff\n") and "\n+  SELECT station" in plan.value
    assert apply_job.execute_in_process(QUIET, resources=skin.resources, instance=instance).success
    skin.land(4, 7)
    again = skin.run(instance)
    assert again.success
    found = {
        (e.asset_key.to_user_string(), e.check_name): dict(e.metadata)
        for e in again.get_asset_check_evaluations()
        if not e.passed
    }
    assert found == {}
    assert "say" in str(_tick_of_files(skin).skip_message)


def test_a_syntax_error_and_a_missing_folder_fail_the_tick(skin: Skin) -> None:
    skin.define("CREATE SOURCE readings (")
    with pytest.raises(dg.Failure, match="E0101"):
        _tick_of_files(skin)
    (file,) = Path(skin.warehouse.pipelines).glob("*.sql")
    file.unlink()
    file.parent.rmdir()
    with pytest.raises(dg.Failure, match="E0365"):
        _tick_of_files(skin)


@pytest.mark.spark
def test_what_goes_on_is_told_and_what_is_gone_fails_the_tick(
    skin: Skin, materialized: Names
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    assert skin.run(instance).success
    assert skin.loaded.keys
    kept = (skin.landing / "other").rename(skin.landing / "kept")
    skin.define("CREATE SOURCE readings (")
    skin.land(2, 4)
    tick = skin.tick(instance)
    assert tick.run_requests and len(tick.run_requests) == 1
    result = dg.materialize(
        [skin.loaded], instance=instance, resources=skin.resources, run_config=QUIET,
        raise_on_error=False,
    )  # fmt: skip
    # Not what is right is red: each of them is materialized, the source out of reach is not.
    assert not result.success
    assert {"readings", "stations", "others"} <= materialized(result)
    assert "other" not in materialized(result)
    with pytest.raises(dg.Failure, match="E0475"):
        skin.tick(instance)
    kept.rename(skin.landing / "other")
    assert not skin.asks(instance)


@pytest.mark.spark
def test_what_the_command_line_did_is_told_by_the_sensor(skin: Skin, materialized: Names) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    with skin.connect() as floodmark:
        skin.warehouse.deploy(floodmark)
        floodmark.advance()
    tick = skin.tick(instance)
    assert not tick.run_requests
    told = {e.asset_key.to_user_string(): e for e in tick.asset_events}
    assert set(told) == {s.key.to_user_string() for s in skin.assets.specs}
    metadata: dict[str, Any] = {k: v.value for k, v in told["readings"].metadata.items()}
    assert metadata["rows_in"] == 3
    again = skin.tick(instance, tick.cursor)
    assert not again.asset_events and again.cursor == tick.cursor
    # Its checks are the next run's, which says nothing of it twice.
    run = skin.run(instance)
    assert run.success and materialized(run) == set()
    checks = run.get_asset_check_evaluations()
    assert {e.check_name for e in checks if e.asset_key == dg.AssetKey("readings")} >= {
        "rows_accounted_for", "stream_key_unique"
    }  # fmt: skip


@pytest.mark.spark
def test_a_run_writes_what_changed_and_that_it_looked(skin: Skin, materialized: Names) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    assert skin.run(instance).success
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    tick = skin.tick(instance)
    assert tick.run_requests is not None
    (request,) = tick.run_requests
    assert {k.to_user_string() for k in request.asset_selection or ()} == {"other", "others"}
    assert request.tags[EVERYTHING] and request.asset_check_keys == []
    result = requested(skin, instance, request)
    assert result.success and materialized(result) == {"other", "others"}
    with skin.connect() as floodmark:
        assert floodmark.warehouse.log.head().open is None
    quiet = skin.run(instance)
    assert quiet.success and materialized(quiet) == set()
    looked = _events(quiet, dg.DagsterEventType.ASSET_OBSERVATION)
    assert {e.asset_key.to_user_string() for e in looked if e.asset_key} == {
        s.key.to_user_string() for s in skin.assets.specs
    }
    assert not _events(result, dg.DagsterEventType.ASSET_OBSERVATION)


@pytest.mark.spark
def test_an_audit_is_made_alone_and_stands_in_later_runs(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    first = skin.run(instance)
    assert first.success
    assert not [e for e in first.get_asset_check_evaluations() if e.check_name in AUDITS]
    key = dg.AssetCheckKey(dg.AssetKey("stations"), EQUIVALENCE)
    alone = dg.materialize(
        [skin.assets], instance=instance, resources=skin.resources, run_config=QUIET,
        selection=dg.AssetSelection.checks(key),
    )  # fmt: skip
    (made,) = alone.get_asset_check_evaluations()
    assert made.passed and made.metadata["missing"].value == 0
    skin.land(2, 4)
    later = skin.run(instance)
    (standing,) = [e for e in later.get_asset_check_evaluations() if e.check_name in AUDITS]
    assert standing.passed and "as of epoch" in (standing.description or "")


def test_a_suspension_outside_is_told_and_its_end_too(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    with skin.connect() as floodmark:
        warehouse, now = floodmark.warehouse, floodmark.clock.now()
        pipeline = skin.warehouse.pipeline()
        warehouse.catalogs.append(1, statements_of(pipeline.catalog), now)
        records = [ObjectRecord(found.key, {}, position=1) for found in pipeline.writing_objects]

        def seal(epoch: int) -> None:
            warehouse.log.open(epoch, now + timedelta(seconds=epoch), 1, now)
            warehouse.log.seal(epoch, records, now)

        seal(1)
        first = skin.tick(instance)
        warehouse.log.record("suspend", now, "bad file", object="other", code="E0478")
        seal(2)
        second = skin.tick(instance, first.cursor)
        seal(3)
        again = skin.tick(instance, second.cursor)
        warehouse.log.record("resume", now, object="other")
        seal(4)
        last = skin.tick(instance, again.cursor)

    def suspended(tick: dg.SensorResult) -> dict[str, bool]:
        return {
            e.asset_key.to_user_string(): e.passed
            for e in tick.asset_events
            if isinstance(e, dg.AssetCheckEvaluation)
        }

    assert suspended(first) == suspended(again) == {}
    assert suspended(second) == {"other": False, "others": False}
    assert suspended(last) == {"other": True, "others": True}


@pytest.mark.spark
def test_fields_that_do_not_match_are_metadata_and_a_warning(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    ids = pa.array([7, 8], pa.int64())
    pq.write_table(pa.table({"id": ids, "idd": ids}), skin.landing / "other/2.parquet")
    skin.define(PIPELINE.format(landing=skin.landing).replace("other (id", "other (more INT, id"))
    first = skin.run(instance)
    assert first.success
    said = "more is in none of 3 rows; the rows have id, idd"
    (told,) = [e for e in first.get_asset_materialization_events() if e.asset_key == OTHER]
    assert told.materialization.metadata["fields"].value == said

    def check(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
        (found,) = [e for e in result.get_asset_check_evaluations()
                    if (e.asset_key, e.check_name) == (OTHER, "fields_match")]  # fmt: skip
        assert found.passed or found.severity is dg.AssetCheckSeverity.WARN
        return found

    assert not check(first).passed and check(first).description == said
    # A run to which nothing came says so, too; other assets are as they should be.
    assert not check(skin.run(instance)).passed
    failed = [e for e in first.get_asset_check_evaluations() if not e.passed]
    assert {(e.asset_key, e.check_name) for e in failed} == {(OTHER, "fields_match")}


def test_relative_paths_start_at_the_project_in_dagster_too(
    skin: Skin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = Path(skin.warehouse.pipelines).parent, tmp_path / "other"
    skin.land(1, 1)
    (other / "landing" / "readings").mkdir(parents=True)
    monkeypatch.chdir(other)
    text, said = PIPELINE.format(landing="landing"), " FORMAT PLAIN ENCODE PARQUET;\nCREATE TABLE"
    skin.define(text.replace(said, ";\nCREATE TABLE"))
    with skin.connect() as floodmark:
        (assumed,) = skin.warehouse.deploy(floodmark)
        assert "other says no FORMAT" in assumed and skin.warehouse.deploy(floodmark) == []
        floodmark.execute("CREATE SOURCE more (a INT) WITH (connector = 'files', path = 'more')")
        places = {k: o.resolved for k, o in floodmark.deployed.catalog.objects.items()}
    assert places["readings"] == str(here / "landing" / "readings")
    assert places["more"] == str(here / "more")
    assert skin.warehouse.checks_folder == Path(skin.warehouse.checks)
    assert Warehouse(root="w", pipelines=str(here / "pipelines"), spark=skin.spark,
                     clock=EngineClock()).checks_folder == here / "checks"  # fmt: skip
    # The command line, from a third folder, means the same files.
    monkeypatch.chdir(tmp_path.parent)
    done = CliRunner().invoke(
        app, ["plan", "-w", skin.warehouse.root, "-p", str(here / "pipelines")]
    )
    assert done.exit_code == 0 and "replace" not in done.output, done.output
    (here / "more").mkdir()
    assert skin.asks(dg.DagsterInstance.ephemeral())
    assert "say" in str(_tick_of_files(skin).skip_message)
