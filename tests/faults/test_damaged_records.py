"""Damaged records that stop nothing: what they said can be found out, or is not asked. No Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.errors import DataError
from floodmark.storage.logs.epochs import BUCKET, EpochLog
from floodmark.storage.logs.last_reported import LastReport, LastReports
from floodmark.storage.records.upgrades import FORMAT

NOW = datetime(2024, 1, 1, tzinfo=UTC)
DAMAGES = ("", "{", "[1]", '{"a": 1}', '{"format": 1, "number": 1}', "\x00" * 40)


@pytest.mark.parametrize("text", DAMAGES)
def test_a_damaged_report_book_is_begun_anew(text: str, tmp_path: Path) -> None:
    book = LastReports(tmp_path)
    book.write({"public.t": LastReport(epoch=3)})
    (tmp_path / "_floodmark" / "reported.json").write_text(text)
    assert book.all_reports() == {}
    book.write({"public.t": LastReport(epoch=4)})
    assert {key: entry.epoch for key, entry in book.all_reports().items()} == {"public.t": 4}


def test_what_a_newer_version_wrote_is_not_written_over(tmp_path: Path) -> None:
    book = tmp_path / "_floodmark" / "reported.json"
    book.parent.mkdir()
    text = json.dumps({"format": FORMAT + 1})
    book.write_text(text)
    for use in (LastReports(tmp_path).all_reports, lambda: LastReports(tmp_path).write({})):
        with pytest.raises(DataError, match="E0430"):
            use()
    assert book.read_text() == text


@pytest.mark.parametrize("text", ["", "{", '{"format": 1, "number": 1}'])
def test_a_damaged_sum_of_splits_is_made_anew(text: str, tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    log.open(1, NOW, 1, NOW)
    log.record_discovered(BUCKET - 1, {"s": 1})
    assert log.last_discovery() == (BUCKET - 1, {"s": 1})
    (tmp_path / "_floodmark" / "epochs" / "0" / "discovered.json").write_text(text)
    assert log.last_discovery() == (0, {})
    log.record_discovered(BUCKET - 1, {"s": 2})
    assert log.last_discovery() == (BUCKET - 1, {"s": 2})


@pytest.mark.parametrize("text", ["", "{", '{"format": 1, "number": 1}'])
def test_who_only_reads_does_not_ask_whether_a_warehouse_is_durable(
    text: str, tmp_path: Path
) -> None:
    with connect(tmp_path) as fm:
        fm.execute("CREATE TABLE t (k INT)")
    (tmp_path / "_floodmark" / "warehouse.json").write_text(text)
    with connect(tmp_path) as fm:
        assert fm.status().keys() == {"t"}
        (found,) = fm.verify()
        assert found.code == "E0409" and "warehouse.json" in found.message
        with pytest.raises(DataError, match=r"E0409.*warehouse\.json"):
            fm.execute("CREATE TABLE u (k INT)")
    shown = CliRunner().invoke(app, ["doctor", "--json", "--warehouse", str(tmp_path)])
    checks = {check["name"]: check for check in json.loads(shown.stdout)}
    assert checks["logs"]["state"] == "fail" and "warehouse.json" in checks["logs"]["message"]
    assert checks["tables"]["state"] == "ok" and "dead letters" in checks


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_what_fails_many_checks_is_told_once(damage: str, tmp_path: Path) -> None:
    with connect(tmp_path) as fm:
        for name in "tuv":
            fm.execute(f"CREATE TABLE {name} (k INT)")
    victim = tmp_path / "_floodmark" / "epochs" / "0" / "2.open.json"
    if damage == "missing":
        victim.unlink()
    else:
        victim = victim.with_name("3.seal.json")
        victim.write_text("{")
    shown = CliRunner().invoke(app, ["doctor", "--json", "--warehouse", str(tmp_path)])
    checks = json.loads(shown.stdout)
    (failed,) = [c for c in checks if c["state"] == "fail"]
    assert shown.exit_code == 1 and victim.name.partition(".")[0] in failed["message"]
    (unseen,) = [c for c in checks if c["name"] == "not checked"]
    assert "tables" in unseen["message"] and "suspended" in unseen["message"]


def test_a_check_that_the_system_refuses_ends_no_other(tmp_path: Path) -> None:
    root = tmp_path / ("x" * 300)
    shown = CliRunner().invoke(app, ["doctor", "--json", "--warehouse", str(root)])
    checks = {check["name"]: check for check in json.loads(shown.stdout)}
    assert shown.exit_code == 1 and "File name too long" in checks["warehouse"]["message"]
    assert "disk" in checks["not checked"]["message"] and "java" in checks and "pipelines" in checks
