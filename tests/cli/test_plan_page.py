"""The page of `floodmark plan`: what becomes of each object, why, and what follows from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from floodmark.cli.app import app

OLD = """
CREATE TABLE t (k INT PRIMARY KEY, n INT);
CREATE TABLE d (k INT PRIMARY KEY, name VARCHAR);
CREATE MATERIALIZED VIEW sums AS SELECT n % 2 AS odd, sum(k) AS total FROM t GROUP BY n % 2;
CREATE MATERIALIZED VIEW most AS SELECT max(total) AS total FROM sums;
CREATE MATERIALIZED VIEW gone AS SELECT k FROM t WHERE n > 1;
CREATE MATERIALIZED VIEW named AS SELECT name FROM d;
CREATE TABLE other (k INT PRIMARY KEY);
"""
NEW = """
CREATE TABLE t (k INT PRIMARY KEY, n INT) ON CONFLICT DO NOTHING;
CREATE TABLE d (k BIGINT PRIMARY KEY, name VARCHAR);
CREATE MATERIALIZED VIEW sums AS SELECT n % 3 AS part, sum(k) AS total FROM t GROUP BY n % 3;
CREATE MATERIALIZED VIEW most AS SELECT max(total) AS total FROM sums;
CREATE TABLE fed (k INT PRIMARY KEY);
CREATE SINK feeds INTO fed AS SELECT k FROM t;
CREATE VIEW seen AS SELECT k FROM fed;
CREATE TABLE other (k INT PRIMARY KEY);
"""


PAGE = Path(__file__).parent / "plan_page.txt"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "pipelines").mkdir()
    return tmp_path


def call(*arguments: str) -> Result:
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code in (0, 2), found.output
    return found


def write(project: Path, text: str) -> None:
    (project / "pipelines" / "all.sql").write_text(text)


@pytest.mark.usefixtures("project")
def test_what_is_new_says_what_fills_it(project: Path) -> None:
    write(project, NEW)
    assert call("plan").stdout.splitlines() == [
        "+ create   t           table              empty",
        "+ create   d           table              empty",
        "+ create   other       table              empty",
        "+ create   sums        materialized view  filled from t",
        "+ create   sink:feeds  sink               filled from t",
        "+ create   most        materialized view  filled from sums",
        "+ create   fed         table              filled from sink:feeds",
        "+ create   seen        view               stores nothing",
        "8 to create",
        "",
        "nothing has been changed; `floodmark plan --apply` does it",
    ]


@pytest.mark.usefixtures("project")
def test_what_begins_without_a_snapshot_is_not_filled(project: Path) -> None:
    view = "CREATE MATERIALIZED VIEW m AS SELECT k FROM l WITH (snapshot = 'false');"
    write(project, f"CREATE TABLE l (k INT) APPEND ONLY; {view}")
    assert "m  materialized view  begins empty, takes what changes in l" in call("plan").stdout


@pytest.mark.spark
def test_the_page_says_what_becomes_of_the_rows(project: Path) -> None:
    write(project, OLD)
    call("run")
    call("sql", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3); INSERT INTO d VALUES (1, 'a')")
    write(project, NEW)
    shown = call("plan").stdout
    assert shown == PAGE.read_text(), shown
    told = json.loads(call("plan", "--json").stdout)
    assert told["totals"] == {
        "create": 3, "alter": 1, "rebuild": 2, "reset": 1, "drop": 2, "keep": 1}  # fmt: skip
    reset = next(c for c in told["changes"] if c["object"] == "d")
    assert (reset["loses"], reset["rows"]) == (1, 1)


@pytest.mark.spark
def test_a_file_that_says_a_former_name_is_told_of(project: Path) -> None:
    write(project, OLD)
    call("run")
    call("sql", "ALTER TABLE t RENAME TO r")
    told = "all.sql:2: t has been renamed to r; what is deployed stays until"
    assert told in call("plan").stdout and "nothing would change" in call("plan").stdout
    assert told in call("run").stdout
    assert [d["object"] for d in json.loads(call("plan", "--json").stdout)["drift"]] == ["r"]
    call("sql", "ALTER TABLE r ON CONFLICT DO NOTHING")
    assert "t has been renamed to r and r has been altered" in call("plan").stdout


@pytest.mark.spark
def test_an_apply_without_changes_finishes_an_open_epoch(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "CREATE TABLE t (k INT PRIMARY KEY);")
    call("run")
    write(project, "CREATE TABLE t (k INT PRIMARY KEY) ON CONFLICT DO NOTHING;")
    with monkeypatch.context() as patched:
        patched.setattr("floodmark.epochs.loop.EpochLoop._run", _killed)
        assert CliRunner().invoke(app, ["plan", "--apply"]).exit_code
    shown = call("plan").stdout.splitlines()
    assert shown[:2] == [
        "nothing would change",
        "! epoch 2 is open: the next run, statement or apply finishes it",
    ]
    assert json.loads(call("plan", "--json").stdout)["open"] == 2
    assert call("plan", "--apply").stdout.splitlines()[-1] == "finished epoch 2"
    assert json.loads(call("plan", "--json").stdout)["open"] is None


def _killed(*_: object) -> None:
    raise KeyboardInterrupt
