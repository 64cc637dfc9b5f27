"""Tables that somebody broke: `verify` names each fault, `doctor` those of the newest versions."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.cli.app import app
from floodmark.spark.session import Sessions
from floodmark.storage.logs.epochs import EpochLog
from tests.warehouses import GROUPED, NAMES, NOW, READINGS, SUNK, Site, put, readings

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Site:
    """Return a warehouse of two epochs."""
    site = Site(tmp_path_factory.mktemp("rest"), sessions)
    site.define(READINGS, NAMES, GROUPED, SUNK)
    with site.connect() as fm:
        fm.deploy(site.pipelines)
        for number in range(2):
            put(site.landing, str(number), readings(20 * number, 20))
            fm.advance()
    return site


def _data(root: Path, table: str) -> Path:
    """Return the newest data file of a table."""
    return max((root / table).rglob("*.parquet"), key=lambda p: p.stat().st_mtime_ns)


def _commit(root: Path, table: str) -> Path:
    return max((root / table / "_delta_log").glob("*.json"))


FAULTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a data file is gone": ("st", lambda w: _data(w, "_rows/public/st").unlink()),
    "a data file is shorter": ("st", lambda w: os.truncate(_data(w, "_rows/public/st"), 9)),
    "a data file is garbage": (
        "s",
        lambda w: _data(w, "_rows/public/s").write_bytes(
            bytes(_data(w, "_rows/public/s").stat().st_size)
        ),
    ),
    "the newest commit is gone": ("st", lambda w: _commit(w, "_rows/public/st").unlink()),
    "a commit is gone": ("st", lambda w: _oldest(w, "_rows/public/st").unlink()),
    "the log of a table is gone": (
        "st",
        lambda w: shutil.rmtree(w / "_rows/public/st" / "_delta_log"),
    ),
    "a table is gone": ("t", lambda w: shutil.rmtree(w / "_rows/public/t")),
    "changes are gone": ("st", lambda w: shutil.rmtree(w / "_changes/public/st")),
    "a commit is no JSON": ("st", lambda w: _commit(w, "_rows/public/st").write_text("{")),
    "a seal in the middle is gone": (
        "",
        lambda w: (w / "_floodmark/epochs/0/1.seal.json").unlink(),
    ),
    "all of the log is gone": ("", lambda w: shutil.rmtree(w / "_floodmark/epochs")),
}
"""What is done to a warehouse, and which object it concerns; '' is the log."""


def _oldest(root: Path, table: str) -> Path:
    return sorted((root / table / "_delta_log").glob("*.json"))[1]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named(fault: str, site: Site, tmp_path: Path) -> None:
    root = Path(shutil.copytree(site.root / "warehouse", tmp_path / "warehouse"))
    object_, plant = FAULTS[fault]
    plant(root)
    findings = _verified(root)
    assert findings
    if object_:
        assert {f["object"] for f in findings} == {object_}
    assert all(f["remedy"] for f in findings)


def _verified(root: Path, *names: str) -> list[dict[str, str]]:
    told = CliRunner().invoke(app, ["verify", *names, "-w", str(root), "--json"])
    findings: list[dict[str, str]] = json.loads(told.stdout)
    assert told.exit_code == (1 if findings else 0), told.output
    return findings


def test_nothing_is_found_where_all_is_well(site: Site) -> None:
    started = time.monotonic()
    told = CliRunner().invoke(app, ["verify", "-w", str(site.root / "warehouse")])
    assert told.exit_code == 0, told.output
    assert "as the log says" in told.stdout
    assert time.monotonic() - started < 20


def test_counts_that_do_not_add_up_are_named(site: Site, tmp_path: Path) -> None:
    root = Path(shutil.copytree(site.root / "warehouse", tmp_path / "warehouse"))
    with site.connect() as fm:
        before = fm.warehouse.log.seal_record(2).objects["s"]
    log = EpochLog(root)
    record = replace(before, rows_in=before.rows_in + 1)
    others = [r for key, r in log.seal_record(2).objects.items() if key != "s"]
    (root / "_floodmark/epochs/0/2.seal.json").unlink()
    log.seal(2, [record, *others], NOW)
    (finding,) = _verified(root)
    assert (finding["object"], finding["code"]) == ("s", "E0463")
    assert "36 of them" in finding["message"] and "35 are stored" in finding["message"]
    assert _verified(root, "st") == []
    # What cannot be read is not counted, too.
    _data(root, "_rows/public/s").unlink()
    (finding,) = _verified(root)
    assert "missing" in finding["message"]


def test_where_there_is_no_warehouse_nothing_is_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["verify"], ["verify", "x"]):
        told = CliRunner().invoke(app, [*words, "-w", str(tmp_path / "none")])
        assert told.exit_code == 1 and "E0464" in told.output
    monkeypatch.chdir(tmp_path)
    for pipelines, state in (([], "warn"), (["-p", str(tmp_path)], "ok")):
        told = CliRunner().invoke(app, ["doctor", "-w", "none", *pipelines, "--json"])
        assert told.exit_code == 0, told.output
        checks = {c["name"]: c for c in json.loads(told.stdout)}
        assert checks["warehouse"]["state"] == state
        assert "there is none" in checks["warehouse"]["message"]
        assert not checks.keys() & {"logs", "tables", "fields"}
    assert not (tmp_path / "none").exists()
