"""The maintenance job: what it reports, and where it learns how long things are kept."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from floodmark_dagster.jobs.maintenance_job import maintenance_job
from floodmark_dagster.resources.clock import EngineClock
from floodmark_dagster.resources.spark import FloodmarkSpark
from floodmark_dagster.resources.warehouse import Warehouse
from tests.dagster.pipeline_skin import QUIET


def _maintain(root: Path) -> dg.ExecuteInProcessResult:
    warehouse = Warehouse(
        root=str(root / "warehouse"), pipelines=str(root / "pipelines"),
        spark=FloodmarkSpark(), clock=EngineClock(),
    )  # fmt: skip
    return maintenance_job.execute_in_process(
        resources={"warehouse": warehouse}, run_config=QUIET, raise_on_error=False
    )


def test_a_warehouse_without_epochs_has_nothing_to_maintain(tmp_path: Path) -> None:
    done = _maintain(tmp_path)
    assert done.success
    (finished,) = [e for e in done.all_node_events if e.is_step_success]
    assert finished.step_key == "maintain_warehouse"


@pytest.mark.parametrize(("retention", "succeeds"), [("36 hours", True), ("long", False)])
def test_the_pipeline_files_say_how_long(tmp_path: Path, retention: str, succeeds: bool) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "a.sql").write_text(f"SET retention = '{retention}';")
    done = _maintain(tmp_path)
    assert done.success is succeeds
    if not succeeds:
        (failed,) = [e for e in done.all_node_events if e.is_step_failure]
        assert "E0369" in str(failed.step_failure_data)
