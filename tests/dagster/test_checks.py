"""Checks fail when they should: doctored tables, rules of pandera, a view that drifted."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from floodmark.connectors.files.connector import FilesConnector
from floodmark.session.audit.checks import RowRule, is_proven, run_checks
from floodmark.session.audit.schemas import rules_of
from floodmark.session.inspect.reporting import reports
from floodmark.storage.table import DataFile
from floodmark.tools.equivalence import difference
from floodmark_dagster.assets.audits import REPLAY
from tests.dagster.pipeline_skin import QUIET, Skin, make_skin  # noqa: F401
from tests.warehouses import double

CHECKS = """
import pandera.pyspark as pa

def readings(schema):
    schema.columns["v"].checks.append(pa.Check.le(6))
    schema.columns["id"].checks.append(pa.Check.ge(0))
    return schema
"""


@pytest.mark.spark
def test_conditions_of_pandera_are_counted_exactly(skin: Skin) -> None:
    folder = Path(skin.warehouse.checks)
    folder.mkdir()
    (folder / "readings.py").write_text(CHECKS)
    skin.land(1, 1)
    result = skin.run(dg.DagsterInstance.ephemeral())
    assert result.success
    failed = [e for e in result.get_asset_check_evaluations() if not e.passed]
    assert [(e.asset_key.to_user_string(), e.check_name) for e in failed] == [
        ("readings", "columns_hold")
    ]
    numbers = {k: v.value for k, v in failed[0].metadata.items()}
    assert numbers["v.less_than_or_equal_to"] == 1
    assert numbers["id.greater_than_or_equal_to"] == 0


@pytest.mark.spark
def test_doctored_rows_are_found(skin: Skin, monkeypatch: pytest.MonkeyPatch) -> None:
    # Row ids of files that are taken over follow from their place: no two are alike.
    monkeypatch.setattr(FilesConnector, "storable", lambda *_: None)
    skin.land(1, 1)
    with skin.connect() as floodmark:
        skin.warehouse.deploy(floodmark)
        floodmark.advance()
        found = reports(floodmark.warehouse, {})
        assert all(o.is_passed for all_ in run_checks(floodmark.warehouse, found, {}).values()
                   for o in all_)  # fmt: skip
        assert difference(floodmark, "stations").missing == 0

        for table in ("_changes/public/stations", "public/stations", "public/readings"):
            double(Path(skin.warehouse.root) / table)
        failed = {
            (key, outcome.check)
            for key, outcomes in run_checks(floodmark.warehouse, found, {}).items()
            for outcome in outcomes
            if not outcome.is_passed
        }
        assert {("readings", "stream_key_unique"), ("stations", "stream_key_unique")} <= failed
        assert ("stations", "changelog_well_formed") in failed
        drifted = difference(floodmark, "others")
        assert not drifted.missing and not drifted.surplus
        assert difference(floodmark, "stations").surplus > 0


def test_statistics_answer_bounds() -> None:
    rule = RowRule("v.in_range", "v", "v BETWEEN 0 AND 9", 0, 9, only_bounds=True)
    assert is_proven(rule, [DataFile("a", 1, 2, {"v": 0}, {"v": 9}, {"v": 0})])
    assert is_proven(rule, [DataFile("a", 1, 2, {}, {}, {"v": 2})])
    assert not is_proven(rule, [DataFile("a", 1, 2, {"v": 0}, {"v": 10}, {"v": 0})])
    assert not is_proven(rule, [DataFile("a", 1, 2, {}, {}, {})])


def test_no_checks_folder_means_no_rules(skin: Skin) -> None:
    assert rules_of(Path(skin.warehouse.checks), skin.warehouse.pipeline()) == {}


@pytest.mark.spark
def test_an_epoch_of_each_object_is_replayed_on_demand(skin: Skin) -> None:
    skin.land(1, 1)
    with skin.connect() as floodmark:
        skin.warehouse.deploy(floodmark)
        floodmark.advance()
    selected = dg.AssetSelection.checks(*(
        dg.AssetCheckKey(dg.AssetKey(name), REPLAY) for name in ("readings", "stations")
    ))  # fmt: skip
    job = dg.define_asset_job("audit", selected)
    defs = dg.Definitions(assets=[skin.assets], jobs=[job], resources=skin.resources)

    def found() -> dict[str, tuple[bool, str]]:
        result = defs.resolve_job_def("audit").execute_in_process(run_config=QUIET)
        return {
            e.asset_key.to_user_string(): (e.passed, e.severity.value)
            for e in result.get_asset_check_evaluations()
        }

    same = (True, "ERROR")
    assert found() == {"readings": same, "stations": same}
    (skin.landing / "readings" / "0001.parquet").unlink()
    double(Path(skin.warehouse.root) / "_changes/public/stations")
    assert found() == {"readings": (False, "WARN"), "stations": (False, "ERROR")}
